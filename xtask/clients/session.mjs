// Drives a client of any TypeScript SDK and prints one line of facts.
//
// `connect(order)` returns `{client, close, call(params, options), protocol}`; the rest is the same for all SDKs.

const QUESTION = "Which is safer, and why?";
const SLOW = "x-ai/grok-4.7";
const FAST = "openai/gpt-6.1-sol";
const LOOK_EVERY_MS = 5;
const WAIT_MAX_MS = 20_000;

export async function run(connect) {
  const order = JSON.parse(process.env.ORDER);
  const session = await connect(order);
  const { client } = session;
  const can = client.getServerCapabilities();
  const tools = (await client.listTools()).tools;
  const listed = await session.call({ name: "list_models", arguments: { search: "grok" } }, {});
  const facts = {
    server: client.getServerVersion().name,
    protocol: session.protocol(),
    tools: tools.map((tool) => tool.name),
    // The SDK checks a result only against a schema.
    schemas: tools.filter((tool) => tool.outputSchema).map((tool) => tool.name),
    models: listed.structuredContent?.models_total ?? 0,
    prompts: can.prompts ? (await client.listPrompts()).prompts.length : null,
    call: await called(session, { prompt: QUESTION, models: [FAST] }, { timeout: WAIT_MAX_MS }),
    // Each run is a resource, so there is one now.
    resources: can.resources ? (await client.listResources()).resources.length : null,
  };
  facts.wall = await called(session, { prompt: "wall", models: [SLOW] }, { timeout: order.wall_ms });
  const fetched = { name: "get_run", arguments: { run_id: facts.wall.run_id, wait_s: 20 } };
  const got = await session.call(fetched, { timeout: order.wall_ms });
  facts.first_wait = got.structuredContent.status;
  facts.fetched = await until(async () => {
    const { structuredContent: report } = await session.call(fetched, { timeout: order.wall_ms });
    return report.status === "running" ? null : report.status;
  });
  facts.cancel_ms = await cancelled(session, order);
  await session.close();
  process.stdout.write(`${JSON.stringify(facts)}\n`);
  process.exit(0);
}

/** Calls `process_prompt`. Returns the duration, the result and the progress. */
async function called(session, question, options) {
  const progress = [];
  const begun = performance.now();
  const params = { name: "process_prompt", arguments: question };
  const result = await session.call(params, { ...options, onprogress: (note) => progress.push(note.progress) });
  const { status, run_id, answer } = result.structuredContent;
  return { ms: Math.round(performance.now() - begun), status, run_id, has_answer: Boolean(answer), progress };
}

/** Cancels a call while its model is answering. Returns the milliseconds until the model's server notices. */
async function cancelled(session, order) {
  const stats = async () => (await fetch(`${order.upstream}/__sim/stats`)).json();
  const before = (await stats()).client_cancelled;
  const abort = new AbortController();
  const params = { name: "process_prompt", arguments: { prompt: "cancel", models: [SLOW] } };
  const call = session.call(params, { signal: abort.signal, timeout: WAIT_MAX_MS }).then(
    () => "answered",
    () => "refused",
  );
  await until(async () => (await stats()).in_flight === 1 || null);
  const begun = performance.now();
  abort.abort();
  await until(async () => (await stats()).client_cancelled > before || null);
  const ms = Math.round(performance.now() - begun);
  if ((await call) !== "refused") throw new Error("a call that was taken back was answered");
  return ms;
}

async function until(look) {
  const end = performance.now() + WAIT_MAX_MS;
  for (;;) {
    const seen = await look();
    if (seen !== null) return seen;
    if (performance.now() > end) throw new Error("waited in vain");
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
