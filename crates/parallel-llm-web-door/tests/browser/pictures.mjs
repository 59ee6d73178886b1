// Makes the pictures of the page for the documentation, in the folder `IMAGES`: the demo's question and its written answers.

import { join } from 'node:path';
import { Browser, PHONE, WIDE } from './browser.mjs';
import { AT_ONCE, MODELS, Program, until, words } from './program.mjs';

const FOLDER = process.env.IMAGES;
const QUESTION = 'Our nightly job sometimes charges a customer twice. How should we make it safe to retry?';
const PANEL = MODELS.slice(0, 5);
// Other questions, so that the list of runs and the figures have something to show.
const QUESTIONS = [
  ['Which of 17, 21 and 23 is not a prime number?', ['21', '21', '21', '17', '21']],
  ['Is it safe to add a NOT NULL column online?', null],
  ['What is the capital of Australia?', ['Canberra', 'Canberra', 'Canberra', 'Canberra', 'Sydney']],
  ['How do we shrink our container images?', null],
  ['How many days has February in 2100?', ['28', '28', '29', '28', '28']],
  ['Should we use Postgres or SQLite for a small internal tool?', null],
];

const [program, browser] = [new Program(), new Browser()];
await program.start();
await browser.start();

// Sets how each model of the panel behaves.
const scripted = scripts => Promise.all(PANEL.map((model, index) => program.script(model, scripts[index])));
const paced = (ms, tokens_per_s) => ({ behaviour: { ttft_ms: { mean: ms }, tokens_per_s } });

async function picture(name, path, options = {}, prepare = async () => {}, server = program) {
  const visitor = await browser.visitor(server, options);
  await visitor.goto(path);
  await prepare(visitor);
  await visitor.page.screenshot({ path: join(FOLDER, `${name}.png`), animations: 'disabled' });
  await visitor.end();
}

for (const [prompt, texts] of [...QUESTIONS, ...QUESTIONS]) {
  const pace = index => ({ ttft_ms: { mean: 60 + 40 * index, jitter: 40 }, tokens_per_s: 2_400 - 400 * index });
  await scripted(PANEL.map((_, index) => texts ? words(texts[index], pace(index)) : { behaviour: pace(index) }));
  await program.asked({ prompt, models: PANEL, ...texts && { strategy: 'vote' } });
}

// The models take different times, but none more than two seconds.
await scripted([paced(240, 700), paced(320, 420), paced(280, 500), paced(120, 900), paced(500, 300)]);
const run = `/runs/${await program.asked({ prompt: QUESTION, models: PANEL })}`;
await picture('page-run', run);
await picture('page-dark', run, { colorScheme: 'dark' });
await picture('page-phone', run, { viewport: PHONE });
await picture('page-compare', `${run}/compare?left=final&right=1`);
await picture('page-prompt', `${run}/prompts/synthesizer-1`);
await picture('page-delete', `${run}/delete`);

// One has answered, two write, one thinks, one waits for another try: each stands still there.
const still = tokens => ({ fault: 'stall', after_tokens: tokens, behaviour: AT_ONCE });
await scripted([{ behaviour: AT_ONCE }, still(130), still(70), { fault: 'unavailable_503', behaviour: AT_ONCE }, paced(60_000, 0)]);
const live = await program.ask({ prompt: QUESTION, models: PANEL });
await picture('page-run-live', `/runs/${live}`, { viewport: { ...WIDE, height: 1_000 } }, async visitor => {
  await until('the answer', async () => (await visitor.page.locator('.state.answered').count()) === 1);
  await visitor.page.locator('#seat-3-text', { hasText: /\w{3}/ }).waitFor();
});
await picture('page-ask', '/ask', {}, async visitor => {
  await visitor.page.fill('#question', QUESTION);
  await visitor.page.locator('#quote table').waitFor();
});
await picture('page-runs', '/runs');
await picture('page-models', '/models', {}, async visitor => {
  await visitor.page.locator('.chart').first().evaluate(chart => chart.scrollIntoView());
});

const locked = new Program([]);
await locked.start();
await picture('page-sign-in', '/sign-in', {}, undefined, locked);
await locked.end();

await browser.end();
await program.end();
process.exit(0);
