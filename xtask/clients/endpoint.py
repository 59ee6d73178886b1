"""The `openai` client for Python: chat and responses, whole and streamed, errors, a follow-up and a cancelled call.

Prints one line of facts. `ORDER` has the base URL, the token, the names of three models, and the simulator's address.
"""

import asyncio
import json
import os
import time
import urllib.request

import openai

LOOK_EVERY_S = 0.005
WAIT_MAX_S = 20


def main():
    order = json.loads(os.environ["ORDER"])
    client = openai.OpenAI(base_url=order["base_url"], api_key=order["key"], max_retries=0, timeout=WAIT_MAX_S)
    panel = order["panel"]
    facts = {
        "chat": chat(client, panel, "chat in Python"),
        "chat_streamed": chat_streamed(client, panel, "streamed chat in Python"),
        "errors": errors(client, panel),
    }
    if order.get("behind"):
        # Another program stands between: it speaks its own dialect of everything else.
        print(json.dumps(facts), flush=True)
        return
    facts["models"] = [model.id for model in client.models.list().data]
    facts["model"] = client.models.retrieve("panel/default").id
    facts["response"], whole = response(client, panel, "response in Python")
    facts["response_streamed"] = response_streamed(client, panel, "streamed response in Python")
    facts["follow_up"] = follow_up(client, panel, whole)
    facts["cancel_ms"] = asyncio.run(cancelled(order))
    print(json.dumps(facts), flush=True)


def chat(client, model, text):
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "An earlier question."},
        {"role": "assistant", "content": "An earlier answer."},
        {"role": "user", "content": text},
    ]
    raw = client.chat.completions.with_raw_response.create(model=model, messages=messages)
    reply = raw.parse()
    return {
        "text": reply.choices[0].message.content,
        "finish": reply.choices[0].finish_reason,
        "id": reply.id,
        "request_id": raw.headers.get("x-request-id"),
        "tokens": [reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.total_tokens],
    }


def chat_streamed(client, model, text):
    stream = client.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": text}],
        stream=True,
        stream_options={"include_usage": True},
    )
    pieces, finish, usage, ids = [], None, None, set()
    for chunk in stream:
        ids.add(chunk.id)
        usage = chunk.usage or usage
        for choice in chunk.choices:
            if choice.delta.content:
                pieces.append(choice.delta.content)
            finish = choice.finish_reason or finish
    return {
        "text": "".join(pieces),
        "pieces": len(pieces),
        "finish": finish,
        "ids": len(ids),
        "total_tokens": usage.total_tokens if usage else None,
    }


def response(client, model, text):
    reply = client.responses.create(model=model, instructions="Be brief.", input=text)
    facts = {"text": reply.output_text, "status": reply.status, "total_tokens": reply.usage.total_tokens}
    return facts, reply


def response_streamed(client, model, text):
    """The client accumulates the events itself and fails if they do not fit together."""
    kinds, numbers, pieces = [], [], []
    with client.responses.stream(model=model, input=text) as stream:
        for event in stream:
            kinds.append(event.type)
            numbers.append(event.sequence_number if hasattr(event, "sequence_number") else None)
            if event.type == "response.output_text.delta":
                pieces.append(event.delta)
        final = stream.get_final_response()
    known = [number for number in numbers if number is not None]
    return {
        "text": final.output_text,
        "streamed": "".join(pieces),
        "pieces": len(pieces),
        "first": kinds[0],
        "last": kinds[-1],
        "in_order": known == sorted(known),
        "status": final.status,
    }


def follow_up(client, model, earlier):
    reply = client.responses.create(model=model, input="And then?", previous_response_id=earlier.id)
    return {"status": reply.status, "continues": reply.previous_response_id == earlier.id}


def errors(client, model):
    """What the client makes of each refusal: its class, the status, the code and the field."""
    ask = [{"role": "user", "content": "Why?"}]

    def refused(**fields):
        try:
            client.chat.completions.create(**({"model": model, "messages": ask} | fields))
        except openai.APIStatusError as error:
            body = error.body if isinstance(error.body, dict) else {}
            return [type(error).__name__, error.status_code, body.get("code"), body.get("param")]
        return None

    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    return {
        "unknown_model": refused(model="panel/no-such-panel"),
        "tools": refused(tools=[tool]),
        "n": refused(n=2),
        "no_messages": refused(messages=[]),
        "streamed": refused(stream=True, logprobs=True),
        "wrong_key": refused(extra_headers={"authorization": "Bearer plm_wrong"}),
    }


async def cancelled(order):
    """Cancels a call while its model is answering. Returns the milliseconds until the model's server notices."""

    def stats():
        with urllib.request.urlopen(f"{order['upstream']}/__sim/stats", timeout=WAIT_MAX_S) as reply:
            return json.load(reply)

    async def until(holds):
        end = time.monotonic() + WAIT_MAX_S
        while not holds(await asyncio.to_thread(stats)):
            if time.monotonic() > end:
                raise TimeoutError("waited in vain")
            await asyncio.sleep(LOOK_EVERY_S)

    before = stats()["client_cancelled"]
    async with openai.AsyncOpenAI(base_url=order["base_url"], api_key=order["key"], max_retries=0) as client:
        question = [{"role": "user", "content": "cancel"}]
        call = asyncio.ensure_future(
            client.chat.completions.create(model=order["slow"], messages=question, stream=True)
        )
        await until(lambda now: now["in_flight"] >= 1)
        begun = time.monotonic()
        call.cancel()
        await until(lambda now: now["client_cancelled"] > before)
    return round((time.monotonic() - begun) * 1000)


main()
