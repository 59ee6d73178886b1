// The real program with the simulator of its demo, in an empty home, and the questions that tests ask it.
//
// `PROGRAM` is the path of the binary. Whatever a test starts ends with it.

import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PROGRAM = process.env.PROGRAM;
// A program starts within a second; a busy machine takes longer.
const START_MS_MAX = 60_000;
// A run of the tests takes seconds.
const RUN_MS_MAX = 60_000;
const POLL_MS = 25;

// Models of the simulator, in the order in which tests use them.
export const MODELS = [
  'openai/gpt-6.1-sol', 'anthropic/claude-opus-5.5', 'google/gemini-4-argon', 'x-ai/grok-4.7', 'deepseek/deepseek-v4-pro-0813',
  'openai/gpt-6.1-terra', 'openai/gpt-6-luna', 'anthropic/claude-sonnet-5.5', 'anthropic/claude-haiku-5.5',
  'google/gemini-3.8-flash', 'deepseek/deepseek-v4.1-flash-1017', 'moonshotai/kimi-k3.1-pro', 'z-ai/glm-5.3',
  'qwen/qwen3.8-max-0902', 'mistralai/mistral-large-4-0', 'minimax/minimax-m3',
];

// Behaviours of a model.
export const AT_ONCE = { ttft_ms: { mean: 0 }, tokens_per_s: 0 };
export const words = (text, behaviour = AT_ONCE) => ({ behaviour: { ...behaviour, answer: { fixed: text } } });

export const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

// The first value of `poll` that is not null or false.
export async function until(what, poll, ms = RUN_MS_MAX) {
  const end = performance.now() + ms;
  for (;;) {
    const value = await poll();
    if (value) return value;
    if (performance.now() > end) throw new Error(`${what}: not within ${ms} ms`);
    await pause(POLL_MS);
  }
}

// A process of the program; `output` grows while it runs.
class Process {
  // Those that run: they end even when a test file dies.
  static #running = new Set();
  static {
    process.on('exit', () => { for (const child of Process.#running) child.kill('SIGKILL'); });
  }

  output = '';
  errors = '';
  #child;

  constructor(words, environment) {
    this.#child = spawn(PROGRAM, words, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child.stdout.on('data', bytes => { this.output += bytes; });
    this.#child.stderr.on('data', bytes => { this.errors += bytes; });
    Process.#running.add(this.#child);
    // All that it printed is there when its pipes are closed, which may be after its exit.
    this.ended = new Promise(resolve => this.#child.once('close', resolve));
    this.ended.then(code => {
      this.code = code;
      Process.#running.delete(this.#child);
    });
  }

  // The first match of a pattern in what it prints.
  async prints(pattern) {
    return until(`\`${pattern}\` in the output`, () => {
      const match = `${this.output}\n${this.errors}`.match(pattern);
      if (!match && this.code !== undefined) throw new Error(`it ended with ${this.code}: ${this.errors}`);
      return match;
    }, START_MS_MAX);
  }

  signal(name) {
    this.#child.kill(name);
  }

  async end() {
    if (this.code === undefined) this.#child.kill('SIGKILL');
    await this.ended;
  }
}

// The simulator, and the server with its page.
export class Program {
  #words; #settings; #flows; #home; #environment; #processes = [];

  // Without `words` the page needs no sign-in. `flows` holds files by the names of their flows.
  constructor(words = ['--no-auth'], settings = {}, flows = {}) {
    [this.#words, this.#settings, this.#flows] = [words, settings, flows];
  }

  // Starts both.
  async start() {
    this.#home = await mkdtemp(join(tmpdir(), 'parallel-llm-page-'));
    const folder = join(this.#home, '.config/parallel-llm-mcp/flows');
    await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const [name, text] of Object.entries(this.#flows)) await writeFile(join(folder, `${name}.toml`), text, { mode: 0o600 });
    this.#environment = {
      HOME: this.#home, PATH: process.env.PATH, LANG: 'C.UTF-8', NO_COLOR: '1',
      // Simulated dollars.
      PARALLEL_LLM_BUDGET_USD: '1000', ...this.#settings,
    };
    const simulator = this.process(['simulate', '--port', '0']);
    const [, base] = await simulator.prints(/OPENROUTER_BASE_URL=(\S+)/);
    const [, key] = await simulator.prints(/OPENROUTER_API_KEY=(\S+)/);
    Object.assign(this.#environment, { OPENROUTER_BASE_URL: base, OPENROUTER_API_KEY: key });
    this.upstream = new URL(base).origin;
    this.server = this.process(['serve', '--http', '127.0.0.1:0', ...this.#words]);
    [this.url] = await this.server.prints(/http:\/\/127\.0\.0\.1:\d+/);
    await this.script('*', { behaviour: AT_ONCE });
    for (const model of MODELS) await this.script(model, { behaviour: AT_ONCE });
  }

  process(words) {
    const process = new Process(words, this.#environment);
    this.#processes.push(process);
    return process;
  }

  async end() {
    await Promise.all(this.#processes.map(process => process.end()));
    if (this.#home) await rm(this.#home, { recursive: true, force: true });
  }

  // Sets how a model of the simulator answers.
  async script(model, script) {
    const body = JSON.stringify({ model, script });
    const answer = await fetch(`${this.upstream}/__sim/script`, { method: 'POST', body });
    if (!answer.ok) throw new Error(`the simulator refuses a script: ${await answer.text()}`);
  }

  async json(path) {
    const answer = await fetch(this.url + path);
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  // The newest run, if there is one.
  async #newest() {
    const { live, runs } = await this.json('/runs.json');
    return [...live, ...runs].map(run => run.run_id).sort().at(-1);
  }

  // Asks in the server's own process, through MCP. Returns the run's id at once; its answer is not waited for.
  async ask(question) {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'browser-tests', version: '1' },
    };
    const params = { name: 'process_prompt', arguments: { fresh: true, ...question }, _meta };
    const headers = {
      'content-type': 'application/json', accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'process_prompt',
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const before = await this.#newest();
    let refused = '';
    fetch(`${this.url}/mcp`, { method: 'POST', headers, body }).then(async answer => {
      const text = await answer.text();
      if (!text.includes('"run_id"')) refused = text;
    }).catch(error => { refused = String(error); });
    return until('a new run', async () => {
      if (refused) throw new Error(`no run began: ${refused.slice(0, 2_000)}`);
      const newest = await this.#newest();
      return newest !== before && newest;
    });
  }

  async report(run) {
    return this.json(`/runs/${run}.json`);
  }

  // The report of a run when it has its answer. Late seats may still be awaited.
  async ended(run) {
    return until(`the end of run ${run}`, async () => {
      const report = await this.report(run);
      return report.status !== 'running' && report;
    });
  }

  // Waits until nothing more happens in a run, so that its page is not live.
  async closed(run) {
    return until(`the last event of run ${run}`, async () => {
      const { events } = await this.json(`/runs/${run}/events.json`);
      return events.at(-1).event === 'closed';
    });
  }

  // Asks, and waits until nothing more happens.
  async asked(question) {
    const run = await this.ask(question);
    await this.closed(run);
    return run;
  }
}
