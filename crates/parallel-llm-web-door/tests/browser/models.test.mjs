// The page about models: what is on offer, and the figures of the runs so far.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PHONE } from './browser.mjs';
import { AT_ONCE, MODELS, words } from './program.mjs';
import { setUp } from './setup.mjs';

const FIGURES = ['latency', 'first-token', 'reliability', 'cost', 'budget'];
// Enough for a share, and failures: so few that the model is still asked.
const RUNS = 10;
const FAILED = 2;

const { program, browser } = setUp({ settings: { PARALLEL_LLM_BUDGET_DAY_USD: '2', PARALLEL_LLM_RETRIES_MAX: '0' } });

async function csv(id) {
  const answer = await fetch(`${program.url}/models/${id}.csv`);
  assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8');
  return (await answer.text()).trimEnd().split('\r\n').map(line => line.split(','));
}

// Visits the page and checks what holds for it in every state.
async function visited(options, check) {
  const visitor = await browser.visitor(program, options);
  assert.equal((await visitor.goto('/models')).status(), 200);
  await check?.(visitor);
  await visitor.page.evaluate(() => { for (const details of document.querySelectorAll('details')) details.open = true; });
  await visitor.isAsWideAsItsWindow();
  await visitor.isAccessible();
  visitor.isClean();
  await visitor.end();
}

test('without a run the page shows the models on offer and says that there is nothing to draw', async () => {
  await visited({}, async visitor => {
    assert.equal(await visitor.page.locator('.chart').count(), FIGURES.length);
    assert.equal(await visitor.page.locator('.chart svg').count(), 1, 'the budget of the day');
    await visitor.sees('#offer summary', 'models are on offer');
    await visitor.page.fill('input[name=q]', 'claude');
    await visitor.page.click('#offer button');
    await visitor.sees('#offer tbody', 'anthropic/claude-opus-5.5');
    assert.ok(!(await visitor.text('#offer tbody')).includes('gpt'));
  });
});

test('after some runs every figure has a picture, a table and a CSV of the same numbers', async () => {
  const [one, two, failing] = MODELS;
  await program.script(one, words('The answer is 8.\n\nANSWER: 8'));
  await program.script(two, words('8\n\nANSWER: 8'));
  await program.script(failing, { fault: 'server_500', behaviour: AT_ONCE });
  for (let number = 0; number < RUNS; number += 1) {
    await program.asked({ prompt: `How many legs has spider ${number}?`, models: number < FAILED ? [one, two, failing] : [one, two], strategy: 'vote' });
  }
  for (const options of [{ colorScheme: 'light' }, { colorScheme: 'dark' }, { viewport: PHONE }]) {
    await visited(options, async visitor => {
      for (const id of FIGURES) {
        assert.equal(await visitor.page.locator(`#${id} svg[role=img] title`).count(), 1, id);
      }
    });
  }
  const { figures } = await program.json('/models.json');
  const line = figures.latency.find(({ model }) => model === one);
  assert.ok(line.answered >= RUNS && line.whole_answer.p90 !== null);
  const failed = figures.latency.find(({ model }) => model === failing);
  assert.deepEqual([failed.failed, failed.answered, failed.whole_answer], [FAILED, 0, null]);
  const cells = figures.reliability.find(({ model }) => model === failing).cells;
  assert.equal(cells.reduce((sum, cell) => sum + cell.upstream, 0), FAILED);
  assert.ok(figures.budget.limit_usd === 2 && figures.budget.left_usd < 2);

  const latency = await csv('latency');
  assert.deepEqual(latency.find(([model]) => model === one).slice(1, 3).map(Number), [line.calls, line.answered]);
  const visitor = await browser.visitor(program, { javaScriptEnabled: false });
  await visitor.goto('/models');
  for (const id of FIGURES) {
    const rows = await csv(id);
    if (id === 'reliability' || id === 'cost') continue;
    assert.equal(await visitor.page.locator(`#${id} tbody tr`).count(), rows.length - 1, id);
  }
  visitor.isClean();
  await visitor.end();
  assert.equal((await fetch(`${program.url}/models/nothing.csv`)).status, 400);
});
