"""The Python SDK of May 2025, the protocol of 2025-03-26: whether it reads a paid result. It discards the whole result if
one block has a type that it does not know. Prints one line of facts."""

import asyncio
import json
import os
import re

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def prove(order):
    if "url" in order:
        transport = streamablehttp_client(order["url"])
    else:
        transport = stdio_client(StdioServerParameters(**order["stdio"]))
    async with transport as streams, ClientSession(*streams[:2]) as client:
        begun = await client.initialize()
        asked = await client.call_tool("process_prompt", order["question"])
        run_id = re.search(r"run_id (\w{26})", asked.content[0].text)[1]
        called = await client.call_tool("get_run", {"run_id": run_id, "part": "report"})
        return {
            "server": begun.serverInfo.name,
            "tools": [tool.name for tool in (await client.list_tools()).tools],
            "prompts": len((await client.list_prompts()).prompts),
            "resources": len((await client.list_resources()).resources),
            "blocks": [block.type for block in called.content],
            "text": called.content[0].text,
        }


print(json.dumps(asyncio.run(prove(json.loads(os.environ["ORDER"])))), flush=True)
