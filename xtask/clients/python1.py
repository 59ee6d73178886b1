"""The Python SDK, version 1: the protocol up to 2025-11-25."""

from contextlib import asynccontextmanager
from datetime import timedelta

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

import session


class Session:
    # This SDK drops a cancelled call without notifying the server.
    cancels = False

    def __init__(self, client, begun):
        self.client = client
        self.server = begun.serverInfo.name
        self.protocol = begun.protocolVersion
        self.capabilities = begun.capabilities

    def can(self, what):
        return getattr(self.capabilities, what) is not None

    async def tools(self):
        return [(tool.name, tool.outputSchema) for tool in (await self.client.list_tools()).tools]

    async def prompts(self):
        return (await self.client.list_prompts()).prompts

    async def resources(self):
        return (await self.client.list_resources()).resources

    async def call(self, name, arguments, seconds=session.WAIT_MAX_S, progress=None):
        limit = timedelta(seconds=seconds)
        return (await self.client.call_tool(name, arguments, limit, progress)).structuredContent


@asynccontextmanager
async def connect(order):
    if "url" in order:
        transport = streamable_http_client(order["url"])
    else:
        transport = stdio_client(StdioServerParameters(**order["stdio"]))
    async with transport as streams, ClientSession(*streams[:2]) as client:
        yield Session(client, await client.initialize())


session.run(connect)
