// The `openai` client for Node: chat and responses, whole and streamed, errors, a follow-up and a cancelled call.
//
// Prints one line of facts, with the same names as `endpoint.py`.

import OpenAI from "openai";

const LOOK_EVERY_MS = 5;
const WAIT_MAX_MS = 20_000;

const order = JSON.parse(process.env.ORDER);
const client = new OpenAI({ baseURL: order.base_url, apiKey: order.key, maxRetries: 0, timeout: WAIT_MAX_MS });
const { panel, slow } = order;

const ask = (content) => [{ role: "user", content }];

async function chat(text) {
  const { data, response } = await client.chat.completions
    .create({ model: panel, messages: [{ role: "system", content: "Be brief." }, ...ask(text)] })
    .withResponse();
  const { prompt_tokens, completion_tokens, total_tokens } = data.usage;
  return {
    text: data.choices[0].message.content,
    finish: data.choices[0].finish_reason,
    id: data.id,
    request_id: response.headers.get("x-request-id"),
    tokens: [prompt_tokens, completion_tokens, total_tokens],
  };
}

async function chatStreamed(text) {
  const stream = client.chat.completions.stream({
    model: panel,
    messages: ask(text),
    stream_options: { include_usage: true },
  });
  const pieces = [];
  const ids = new Set();
  for await (const chunk of stream) {
    ids.add(chunk.id);
    const content = chunk.choices[0]?.delta.content;
    if (content) pieces.push(content);
  }
  const whole = await stream.finalChatCompletion();
  return {
    text: pieces.join(""),
    pieces: pieces.length,
    finish: whole.choices[0].finish_reason,
    ids: ids.size,
    total_tokens: whole.usage?.total_tokens ?? null,
  };
}

async function response(input) {
  const whole = await client.responses.create({ model: panel, instructions: "Be brief.", input });
  const { output_text: text, status, usage } = whole;
  return [{ text, status, total_tokens: usage.total_tokens }, whole];
}

async function responseStreamed(input) {
  const stream = client.responses.stream({ model: panel, input });
  const kinds = [];
  const numbers = [];
  const pieces = [];
  for await (const event of stream) {
    kinds.push(event.type);
    numbers.push(event.sequence_number);
    if (event.type === "response.output_text.delta") pieces.push(event.delta);
  }
  const whole = await stream.finalResponse();
  return {
    text: whole.output_text,
    streamed: pieces.join(""),
    pieces: pieces.length,
    first: kinds[0],
    last: kinds.at(-1),
    in_order: numbers.every((number, index) => index === 0 || number > numbers[index - 1]),
    status: whole.status,
  };
}

async function followUp(earlier) {
  const whole = await client.responses.create({ model: panel, input: "And then?", previous_response_id: earlier.id });
  return { status: whole.status, continues: whole.previous_response_id === earlier.id };
}

async function refused(fields, options) {
  try {
    await client.chat.completions.create({ model: panel, messages: ask("Why?"), ...fields }, options);
    return null;
  } catch (error) {
    return [error.constructor.name, error.status, error.code, error.param];
  }
}

async function cancelled() {
  const stats = async () => (await fetch(`${order.upstream}/__sim/stats`)).json();
  const before = (await stats()).client_cancelled;
  const abort = new AbortController();
  const call = client.chat.completions
    .create({ model: slow, messages: ask("cancel"), stream: true }, { signal: abort.signal })
    .catch(() => null);
  await until(async () => (await stats()).in_flight >= 1);
  const begun = performance.now();
  abort.abort();
  await until(async () => (await stats()).client_cancelled > before);
  await call;
  return Math.round(performance.now() - begun);
}

async function until(look) {
  const end = performance.now() + WAIT_MAX_MS;
  while (!(await look())) {
    if (performance.now() > end) throw new Error("waited in vain");
    await new Promise((wake) => setTimeout(wake, LOOK_EVERY_MS));
  }
}

const tool = { type: "function", function: { name: "f", parameters: { type: "object" } } };
const [first, whole] = await response("response in Node");
const facts = {
  chat: await chat("chat in Node"),
  chat_streamed: await chatStreamed("streamed chat in Node"),
  models: (await client.models.list()).data.map((model) => model.id),
  model: (await client.models.retrieve("panel/default")).id,
  response: first,
  response_streamed: await responseStreamed("streamed response in Node"),
  follow_up: await followUp(whole),
  errors: {
    unknown_model: await refused({ model: "panel/no-such-panel" }),
    tools: await refused({ tools: [tool] }),
    n: await refused({ n: 2 }),
    no_messages: await refused({ messages: [] }),
    streamed: await refused({ stream: true, logprobs: true }),
    wrong_key: await refused({}, { headers: { authorization: "Bearer plm_wrong" } }),
  },
  cancel_ms: await cancelled(),
};
process.stdout.write(`${JSON.stringify(facts)}\n`);
process.exit(0);
