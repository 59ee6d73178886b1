"""Drives a client of any Python SDK and prints one line of facts.

`connect(order)` is an asynchronous context that returns a session with `server`, `protocol`, `can(what)`, `tools()`,
`prompts()`, `resources()` and `call(name, arguments, seconds, progress)`; the rest is the same for all SDKs.
"""

import asyncio
import json
import os
import time
import urllib.request

QUESTION = "Which is safer, and why?"
SLOW = "x-ai/grok-4.7"
FAST = "openai/gpt-6.1-sol"
LOOK_EVERY_S = 0.005
WAIT_MAX_S = 20


def run(connect):
    order = json.loads(os.environ["ORDER"])
    facts = asyncio.run(asyncio.wait_for(prove(connect, order), 3 * WAIT_MAX_S))
    print(json.dumps(facts), flush=True)


async def prove(connect, order):
    wall_s = order["wall_ms"] / 1000
    async with connect(order) as session:
        tools = await session.tools()
        listed = await session.call("list_models", {"search": "grok"})
        facts = {
            "server": session.server,
            "protocol": session.protocol,
            "tools": [name for name, _ in tools],
            # The SDK checks a result only against a schema.
            "schemas": [name for name, schema in tools if schema],
            "models": listed["models_total"],
            "prompts": len(await session.prompts()) if session.can("prompts") else None,
            "call": await called(session, {"prompt": QUESTION, "models": [FAST]}, WAIT_MAX_S),
            # Each run is a resource, so there is one now.
            "resources": len(await session.resources()) if session.can("resources") else None,
        }
        facts["wall"] = await called(session, {"prompt": "wall", "models": [SLOW]}, wall_s)
        wanted = {"run_id": facts["wall"]["run_id"], "wait_s": 20}
        facts["first_wait"] = (await session.call("get_run", wanted, wall_s))["status"]

        async def fetched():
            status = (await session.call("get_run", wanted, wall_s))["status"]
            return None if status == "running" else status

        facts["fetched"] = await until(fetched)
        if session.cancels:
            facts["cancel_ms"] = await cancelled(session, order)
    return facts


async def called(session, question, seconds):
    """Calls `process_prompt`. Returns the duration, the result and the progress."""
    progress = []

    async def on_progress(done, _total, _message):
        progress.append(done)

    begun = time.monotonic()
    report = await session.call("process_prompt", question, seconds, on_progress)
    return {
        "ms": milliseconds(begun),
        "status": report["status"],
        "run_id": report["run_id"],
        "has_answer": bool(report.get("answer")),
        "progress": progress,
    }


async def cancelled(session, order):
    """Cancels a call while its model is answering. Returns the milliseconds until the model's server notices."""

    def stats():
        with urllib.request.urlopen(f"{order['upstream']}/__sim/stats", timeout=WAIT_MAX_S) as reply:
            return json.load(reply)

    before = stats()["client_cancelled"]
    question = {"prompt": "cancel", "models": [SLOW]}
    call = asyncio.ensure_future(session.call("process_prompt", question, WAIT_MAX_S))

    async def asked():
        return True if (await asyncio.to_thread(stats))["in_flight"] == 1 else None

    async def hung_up():
        return True if (await asyncio.to_thread(stats))["client_cancelled"] > before else None

    await until(asked)
    begun = time.monotonic()
    call.cancel()
    await until(hung_up)
    return milliseconds(begun)


async def until(look):
    end = time.monotonic() + WAIT_MAX_S
    while (seen := await look()) is None:
        if time.monotonic() > end:
            raise TimeoutError("waited in vain")
        await asyncio.sleep(LOOK_EVERY_S)
    return seen


def milliseconds(begun):
    return round((time.monotonic() - begun) * 1000)
