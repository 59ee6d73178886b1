// A scripted model: it calls the tool that the question names, fetches the run if it is still running, and then reports the
// size of the result. It supports the protocols of coding agents: Anthropic's Messages and OpenAI's Responses.
//
// The question contains `CALL {"tool": ..., "arguments": ...}`.
import { createServer } from "node:http";

/** Starts it. Returns its address, and `talk()`, which returns the offered tools and the results since the last query. */
export function start() {
  let seen = { tools: [], results: [] };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    const path = request.url.split("?")[0];
    const dialect = DIALECTS.find(({ end }) => path.endsWith(end));
    if (request.method !== "POST" || !dialect) {
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
      return;
    }
    const asked = JSON.parse(body);
    const talk = dialect.read(asked);
    const order = /CALL (\{.*\})/.exec(talk.question);
    // An agent also makes requests without tools, such as for a title.
    const isTalk = order !== null && talk.tools.length > 0;
    if (isTalk) seen = { tools: talk.tools, results: talk.results };
    const next = isTalk ? step(JSON.parse(order[1]), talk) : { text: "A title" };
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of dialect.write(asked, next, talk.results.length)) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  });
  const talk = () => {
    const last = seen;
    seen = { tools: [], results: [] };
    return last;
  };
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve({ url: `http://127.0.0.1:${server.address().port}`, talk, server }));
  });
}

/** Extracts the report from a result, in any wrapping by the agent. */
export function report(result) {
  try {
    return JSON.parse(result.slice(result.indexOf("{")));
  } catch {
    return null;
  }
}

/** The next step: a call, or a text. */
function step({ tool, arguments: given }, { tools, results }) {
  const named = (end) => tools.find((name) => name.endsWith(end));
  const last = results.at(-1);
  if (last === undefined) return { name: named(tool), input: given };
  const told = report(last);
  if (told?.status === "running") return { name: named("get_run"), input: { run_id: told.run_id, wait_s: 2 } };
  return { text: `given ${last.length}` };
}

const joined = (parts) => (typeof parts === "string" ? parts : (parts ?? []).map((part) => part.text ?? "").join("\n"));

const MESSAGES = {
  end: "/messages",
  read(asked) {
    const blocks = asked.messages
      .filter(({ role }) => role === "user")
      .flatMap(({ content }) => (typeof content === "string" ? [{ type: "text", text: content }] : content));
    const ofType = (type) => blocks.filter((block) => block.type === type);
    return {
      question: joined(ofType("text")),
      results: ofType("tool_result").map(({ content }) => joined(content)),
      tools: (asked.tools ?? []).map(({ name }) => name).filter((name) => name.startsWith("mcp__")),
    };
  },
  write(asked, next, turn) {
    const usage = { input_tokens: 10, output_tokens: 1 };
    const message = { id: `msg_${turn}`, type: "message", role: "assistant", model: asked.model, content: [] };
    const [block, delta] = next.text
      ? [{ type: "text", text: "" }, { type: "text_delta", text: next.text }]
      : [
          { type: "tool_use", id: `toolu_${turn}`, name: next.name, input: {} },
          { type: "input_json_delta", partial_json: JSON.stringify(next.input) },
        ];
    return [
      { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null, usage } },
      { type: "content_block_start", index: 0, content_block: block },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: next.text ? "end_turn" : "tool_use" }, usage },
      { type: "message_stop" },
    ];
  },
};

const RESPONSES = {
  end: "/responses",
  read(asked) {
    const tools = (asked.tools ?? []).flatMap((tool) =>
      tool.type === "namespace" ? tool.tools.map(({ name }) => `${tool.name} ${name}`) : [tool.name ?? ""],
    );
    return {
      question: joined(asked.input.filter(({ role }) => role === "user").map(({ content }) => ({ text: joined(content) }))),
      results: asked.input.filter(({ type }) => type === "function_call_output").map(({ output }) => joined(output)),
      tools: tools.filter((name) => name.startsWith("mcp__")),
    };
  },
  write(_, next, turn) {
    const [namespace, name] = next.name?.includes(" ") ? next.name.split(" ") : [undefined, next.name];
    const called = { id: `fc_${turn}`, call_id: `call_${turn}`, namespace, name, arguments: JSON.stringify(next.input) };
    const said = { id: `msg_${turn}`, role: "assistant", content: [{ type: "output_text", text: next.text }] };
    const item = next.text ? { type: "message", ...said } : { type: "function_call", ...called };
    const usage = { input_tokens: 10, output_tokens: 1, total_tokens: 11 };
    const id = `resp_${turn}`;
    return [
      { type: "response.created", response: { id } },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { id, usage } },
    ];
  },
};

const DIALECTS = [MESSAGES, RESPONSES];
