"""The Python server of the comparison: what a good Python program does for the same question.

An MCP server on pipes with one tool, `process_prompt`. It asks all models at once over one kept session, sends their answers to a
synthesizer, and writes all texts to files. It keeps no journal and checks nothing, so it does less than the program it is compared
with. It reads whole replies, or with `STREAM=1` event streams, as the program does.
"""

import asyncio
import json
import os
import time
import uuid
from pathlib import Path

import aiohttp
from fastmcp import FastMCP

PANEL = os.environ.get("PARALLEL_LLM_PANEL", "a/one b/two c/three d/four e/five").split()
SYNTHESIZER = "f/six"
BASE_URL = os.environ["OPENROUTER_BASE_URL"]
KEY = os.environ["OPENROUTER_API_KEY"]
STREAM = os.environ.get("STREAM") == "1"
RUNS = Path(os.environ["PARALLEL_LLM_DATA_DIR"]) / "runs"
# By this the upstream knows the call of a synthesizer.
MARKER = "<<answer 0>>"

server = FastMCP("python")
session: aiohttp.ClientSession | None = None


async def ask(model: str, prompt: str) -> str:
    """The answer of one model."""
    global session
    if session is None:
        timeout = aiohttp.ClientTimeout(total=300)
        connector = aiohttp.TCPConnector(limit=0)
        session = aiohttp.ClientSession(connector=connector, timeout=timeout)
    body = {"model": model, "messages": [{"role": "user", "content": prompt}], "stream": STREAM}
    headers = {"Authorization": f"Bearer {KEY}"}
    async with session.post(f"{BASE_URL}/chat/completions", json=body, headers=headers) as reply:
        reply.raise_for_status()
        if STREAM:
            return await streamed(reply)
        return (await reply.json())["choices"][0]["message"]["content"]


async def streamed(reply: aiohttp.ClientResponse) -> str:
    """The text of an event stream, read to its end so that the connection can be used again."""
    pieces = []
    async for line in reply.content:
        if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
            continue
        for choice in json.loads(line[6:])["choices"]:
            pieces.append(choice["delta"].get("content") or "")
    return "".join(pieces)


def write(folder: Path, texts: dict[str, str]) -> None:
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


@server.tool
async def process_prompt(prompt: str) -> dict:
    """Asks all models at once and fuses their answers."""
    answers = await asyncio.gather(*(ask(model, prompt) for model in PANEL))
    told = "\n\n".join(f"<answer {index}>\n{text}\n</answer>" for index, text in enumerate(answers))
    fused = await ask(SYNTHESIZER, f"{MARKER}\nFuse these answers to: {prompt}\n\n{told}")
    folder = RUNS / f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:8]}"
    texts = {f"{index}.md": text for index, text in enumerate(answers)} | {"answer.md": fused}
    write(folder, texts)
    return {"status": "complete", "answer": fused, "folder": str(folder)}


if __name__ == "__main__":
    server.run(show_banner=False)
