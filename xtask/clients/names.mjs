// Maps the names of the conformance suite to tools, prompts and runs of the real program.

const FAST = "openai/gpt-6.1-sol";
const SLOW = "x-ai/grok-4.7";
const STEADY = "google/gemini-4-argon";
const FAILING = "anthropic/claude-opus-5.5";
/// The value that the suite inserts in its resource template. The question of our run contains it.
const NUMBER = "123";

/// The id of the run that replaces the suite's resources.
let runId = null;

const question = (asked, models) => ({ prompt: `Question ${asked} of the suite: which is safer, and why?`, models });
/// A model as slow as a fixture that sleeps this long.
const sleeping = (seconds) => (seconds > 10 ? SLOW : seconds > 0 ? STEADY : FAST);

/// A call that exceeds the user's limit, so that the user is asked first. The answer comes with the repeated call.
const dear = {
  name: "process_prompt",
  arguments: () => ({ prompt: "Which of these is safer?", models: [`${FAST}*20`] }),
};

export const tools = {
  test_simple_text: { name: "list_models", arguments: () => ({ search: "grok" }) },
  test_error_handling: { name: "process_prompt", arguments: () => ({}) },
  // The first model answers at once, the others later.
  test_tool_with_progress: {
    name: "process_prompt",
    arguments: (asked) => question(asked, [FAST, STEADY, SLOW]),
  },
  greet: { name: "list_models", arguments: () => ({ search: "grok" }) },
  slow_compute: {
    name: "process_prompt",
    arguments: (asked, { seconds }) => question(asked, [sleeping(seconds ?? 1)]),
  },
  test_elicitation: dear,
  test_input_required_result_elicitation: dear,
  test_input_required_result_request_state: dear,
  test_input_required_result_tampered_state: dear,
  failing_job: { name: "process_prompt", arguments: (asked) => question(asked, [FAILING]) },
};

export const prompts = {
  test_simple_prompt: {
    name: "second-opinion",
    arguments: () => ({ question: "Which is safer?" }),
    argument: "question",
  },
  test_prompt_with_arguments: {
    name: "compare",
    arguments: ({ arg1, arg2 }) => ({ first: arg1, second: arg2 }),
    argument: "first",
  },
};

/** The program's resource for one of the suite's. */
export function resource(uri) {
  const run = `parallel-llm://runs/${runId}`;
  if (uri === "test://static-text") return run;
  return uri === `test://template/${NUMBER}/data` ? `${run}/prompt` : null;
}

/** Asks a question, so that there is a run to read. */
export async function began(upstream) {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const params = {
    name: "process_prompt",
    arguments: { prompt: `What is number ${NUMBER}?`, models: [FAST] },
    _meta: meta,
  };
  const answer = await fetch(upstream, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": params.name,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  const text = await answer.text();
  runId = /"run_id":"([0-9A-Z]{26})"/.exec(text)?.[1];
  if (!runId) throw new Error(`no run came of the first question: ${text}`);
}
