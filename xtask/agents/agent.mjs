// Drives a coding agent on pipes and over HTTP, and prints one line of facts.
//
// The program's own `install` adds it to the agent's settings. Then the agent runs as its users run it, without a terminal,
// with a scripted model behind it. The timeouts that `install` wrote are scaled down.
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { report, start } from "./model.mjs";

const SLOW = "x-ai/grok-4.7";
const FAST = "openai/gpt-6.1-sol";
const LOOK_EVERY_MS = 5;
const WAIT_MAX_MS = 20_000;
/** The timeout that `install` writes, also for the program, because the client does not report it. */
const INSTALLED_MS = 1_800_000;
const OURS = /(PARALLEL_LLM_CLIENT_WALL_MS\W+)\d+/;

const AGENTS = {
  "claude-code": {
    settings: ".claude.json",
    script: "node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs",
    words: (question) => ["-p", question, "--allowedTools", "mcp__parallel-llm"],
    variables: {
      ANTHROPIC_BASE_URL: "MODEL",
      ANTHROPIC_API_KEY: "a-key-of-no-worth",
      // Otherwise the model is offered a search for tools, which is not under test here.
      ENABLE_TOOL_SEARCH: "false",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
    model: "",
  },
  codex: {
    settings: ".codex/config.toml",
    script: "node_modules/@openai/codex/bin/codex.js",
    // Without a terminal, no one can approve a call that costs money.
    words: (question) => ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", question],
    variables: { MODEL_KEY: "a-key-of-no-worth" },
    model: `model = "pretend"
model_provider = "pretend"

[model_providers.pretend]
name = "pretend"
base_url = "MODEL/v1"
wire_api = "responses"
env_key = "MODEL_KEY"

`,
  },
};

const order = JSON.parse(process.env.ORDER);
const agent = AGENTS[order.agent];
const model = await start();
const { command: program, env: ours } = order.stdio;

const facts = { version: (await agentSays(["--version"], {})).trim() };
facts.pipes = await onPipes();
facts.http = await overHttp();
process.stdout.write(`${JSON.stringify(facts)}\n`);
process.exit(0);

async function onPipes() {
  const home = await settled("pipes", ["--env", "OPENROUTER_API_KEY", "--env", "OPENROUTER_BASE_URL"]);
  const talks = { call: await talk(home, FAST), wall: await talk(home, SLOW) };
  // In this conversation the agent gives up.
  scale(home, INSTALLED_MS);
  const taken = await takenBack(() => talk(home, SLOW, { PARALLEL_LLM_CLIENT_WALL_MS: String(INSTALLED_MS) }));
  return { ...talks, ...taken, left: await left(home) };
}

async function overHttp() {
  const address = await freeAddress();
  const token = (await says(program, ["keys", "create", order.agent], ours)).trim();
  const server = spawn(program, ["serve", "--http", address], { env: ours, stdio: "ignore" });
  try {
    await until(() => listens(address));
    const home = await settled("http", ["--http", `http://${address}/mcp`, "--env", "TOKEN"]);
    return { call: await talk(home, FAST, { TOKEN: token }), wall: await talk(home, SLOW, { TOKEN: token }) };
  } finally {
    server.kill();
  }
}

/** Makes a home in which the program is installed for the agent. */
async function settled(way, words) {
  const home = join(ours.HOME, way);
  rmSync(home, { recursive: true, force: true });
  mkdirSync(join(home, "work"), { recursive: true });
  await says(program, ["install", order.agent, "--yes", ...words], { ...ours, HOME: home });
  const settings = readFileSync(join(home, agent.settings), "utf8");
  if (!settings.includes("1800")) throw new Error(`no time-out is installed: ${settings}`);
  writeFileSync(join(home, agent.settings), agent.model.replace("MODEL", model.url) + settings);
  scale(home, order.wall_ms);
  return home;
}

/** Sets the agent's timeout, and the one that its settings pass to the program to `ours_ms`. */
function scale(home, ours_ms) {
  const path = join(home, agent.settings);
  const seconds = String(order.wall_ms / 1000);
  const scaled = readFileSync(path, "utf8").replaceAll("1800", seconds).replace(OURS, `$1${ours_ms}`);
  writeFileSync(path, scaled);
}

/** Asks one question. Returns the tools and results that the model got, and how the agent ended. */
async function talk(home, asked, variables = {}) {
  const call = { tool: "process_prompt", arguments: { prompt: "Which is safer, and why?", models: [asked] } };
  const begun = performance.now();
  const said = await agentSays(agent.words(`CALL ${JSON.stringify(call)}`), { HOME: home, ...variables }, join(home, "work"));
  const { tools, results } = model.talk();
  const reports = results.map(report);
  const last = reports.at(-1);
  return {
    ms: Math.round(performance.now() - begun),
    tools: tools.map((name) => name.split(/__| /).at(-1)),
    statuses: reports.map((told) => told?.status ?? "none"),
    has_answer: Boolean(last?.answer) && Boolean(last?.run_id),
    // At the end the agent prints the size of its result.
    ended: said.includes(`given ${results.at(-1)?.length}`),
  };
}

/** The time from the model's call until its server notices the cancelled call, in ms. */
async function takenBack(ask) {
  const before = (await stats()).client_cancelled;
  const asked = ask();
  await until(async () => (await stats()).in_flight === 1);
  const begun = performance.now();
  await until(async () => (await stats()).client_cancelled > before);
  const cancel_ms = Math.round(performance.now() - begun);
  return { cancel_ms, given_up: await asked };
}

/** The number of our programs that outlive their agent; null if it cannot be determined. */
async function left(home) {
  if (process.platform !== "linux") return null;
  const variable = `HOME=${home}\0`;
  const living = () =>
    readdirSync("/proc").filter((name) => {
      try {
        return /^\d+$/.test(name) && `${readFileSync(`/proc/${name}/environ`, "utf8")}\0`.includes(variable);
      } catch {
        // The process has just ended, or is another user's.
        return false;
      }
    }).length;
  await until(() => living() === 0).catch(() => {});
  return living();
}

async function stats() {
  return (await fetch(`${order.upstream}/__sim/stats`)).json();
}

function agentSays(words, variables, cwd) {
  const own = Object.entries(agent.variables).map(([name, value]) => [name, value.replace("MODEL", model.url)]);
  const env = { ...ours, HOME: ours.HOME, ...Object.fromEntries(own), ...variables };
  return says(process.execPath, [join(import.meta.dirname, agent.script), ...words], env, cwd);
}

/** Runs a program to its end and returns its stdout. */
function says(command, words, env, cwd = ours.HOME) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, words, { env, cwd, stdio: ["ignore", "pipe", "pipe"] });
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) child[name].on("data", (piece) => (said[name] += piece));
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(said.stdout);
      else reject(new Error(`${words[0]} ended with ${code}: ${(said.stderr || said.stdout).slice(-500)}`));
    });
  });
}

function freeAddress() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(`127.0.0.1:${port}`));
    });
  });
}

function listens(address) {
  const [host, port] = address.split(":");
  return new Promise((resolve) => {
    const socket = connect(Number(port), host);
    const end = (listens) => {
      socket.destroy();
      resolve(listens);
    };
    socket.on("connect", () => end(true)).on("error", () => end(false));
  });
}

async function until(look) {
  const end = performance.now() + WAIT_MAX_MS;
  while (!(await look())) {
    if (performance.now() > end) throw new Error("waited in vain");
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
