"""The Python SDK, version 2: the newest protocol that the server supports."""

from contextlib import asynccontextmanager

from mcp import StdioServerParameters
from mcp.client import Client

import session


class Session:
    cancels = True

    def __init__(self, client):
        self.client = client
        self.server = client.server_info.name
        self.protocol = client.protocol_version

    def can(self, what):
        return getattr(self.client.server_capabilities, what) is not None

    async def tools(self):
        return [(tool.name, tool.output_schema) for tool in (await self.client.list_tools()).tools]

    async def prompts(self):
        return (await self.client.list_prompts()).prompts

    async def resources(self):
        return (await self.client.list_resources()).resources

    async def call(self, name, arguments, seconds=session.WAIT_MAX_S, progress=None):
        return (await self.client.call_tool(name, arguments, seconds, progress)).structured_content


@asynccontextmanager
async def connect(order):
    server = order["url"] if "url" in order else StdioServerParameters(**order["stdio"])
    async with Client(server) as client:
        yield Session(client)


session.run(connect)
