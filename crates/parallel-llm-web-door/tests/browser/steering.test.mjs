// What a visitor does to a run: skip, hurry, stop, continue, compare, delete.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PHONE } from './browser.mjs';
import { AT_ONCE, MODELS, pause, words } from './program.mjs';
import { setUp } from './setup.mjs';

const FIVE = MODELS.slice(0, 5);
const NEVER = { behaviour: { ttft_ms: { mean: 600_000 } } };

const { program, browser } = setUp();

// Visits a run in which these seats never answer and the others at once.
async function waiting(silent, options = {}) {
  for (const [index, model] of FIVE.entries()) {
    await program.script(model, silent.includes(index + 1) ? NEVER : { behaviour: AT_ONCE });
  }
  const run = await program.ask({ prompt: 'Which is safer?', models: FIVE });
  const visitor = await browser.visitor(program, options);
  await visitor.goto(`/runs/${run}`);
  return { run, visitor };
}

// Visits a run that has ended.
async function ended(question = {}, options = {}) {
  for (const model of FIVE) await program.script(model, { behaviour: AT_ONCE });
  const run = await program.asked({ prompt: 'Which is safer?', models: FIVE.slice(0, 3), ...question });
  const visitor = await browser.visitor(program, options);
  await visitor.goto(`/runs/${run}`);
  return { run, visitor };
}

const button = (visitor, name) => visitor.page.getByRole('button', { name, exact: true });
const statuses = report => report.answers.map(answer => answer.status);

test('a slow seat is skipped from the page, and the others make the answer', async () => {
  const { run, visitor } = await waiting([2]);
  await button(visitor, 'Skip seat 2').click();
  await visitor.page.locator('#answer .final').waitFor();
  await visitor.sees('#seat-2 .state', 'cancelled');
  const report = await program.ended(run);
  assert.deepEqual(report.synthesis.considered, [1, 3, 4, 5]);
  await visitor.page.locator('.run:not([data-live])').waitFor();
  visitor.isClean();
  await visitor.end();
});

test('“Synthesize now” makes the answer of what is there', async () => {
  const { run, visitor } = await waiting([4, 5]);
  for (const seat of [1, 2, 3]) await visitor.sees(`#seat-${seat} .state`, 'answered');
  await button(visitor, 'Synthesize now').click();
  await visitor.page.locator('#answer .final').waitFor();
  assert.deepEqual((await program.ended(run)).synthesis.considered, [1, 2, 3]);
  visitor.isClean();
  await visitor.end();
});

test('when the answer is there, late seats hold nothing back and the visitor ends the wait', async () => {
  const { run, visitor } = await waiting([5]);
  for (const seat of [1, 2, 3, 4]) await visitor.sees(`#seat-${seat} .state`, 'answered');
  await button(visitor, 'Synthesize now').click();
  await visitor.page.locator('#answer .final').waitFor();
  for (const name of ['Ask a follow-up', 'Save the answer', 'Delete…']) {
    await visitor.page.getByRole('link', { name }).waitFor();
  }
  await visitor.isAccessible();
  await button(visitor, 'Stop waiting for late seats').click();
  await visitor.page.locator('.run:not([data-live])').waitFor();
  await visitor.sees('#seat-5 .state', 'cancelled');
  await visitor.sees('#actions', 'Make another text of these answers');
  await program.closed(run);
  visitor.isClean();
  await visitor.end();
});

test('the form that compares offers what a reload would, except where the visitor chose', async () => {
  for (const chosen of [null, '4']) {
    const { visitor } = await waiting([1]);
    const [left, right] = ['left', 'right'].map(name => visitor.page.locator(`#comparing select[name=${name}]`));
    const shown = async () => [await left.inputValue(), await right.inputValue()];
    for (const seat of [2, 3, 4, 5]) await visitor.sees(`#seat-${seat} .state`, 'answered');
    await right.locator('option').nth(3).waitFor({ state: 'attached' });
    assert.deepEqual(await shown(), ['2', '3']);
    if (chosen) await right.selectOption(chosen);
    await button(visitor, 'Synthesize now').click();
    await left.locator('option[value=final]').waitFor({ state: 'attached' });
    assert.deepEqual(await shown(), ['final', chosen ?? '2']);
    visitor.isClean();
    await visitor.end();
  }
});

test('“Read the answer” leads to its beginning on a phone, too, where a lost connection is told in full', async () => {
  const { visitor } = await waiting([5], { viewport: PHONE });
  for (const seat of [1, 2, 3, 4]) await visitor.sees(`#seat-${seat} .state`, 'answered');
  await button(visitor, 'Synthesize now').click();
  await visitor.page.getByRole('link', { name: 'Read the answer' }).click();
  // What lies at the upper edge of an element, in sight.
  const isOnTop = selector => visitor.page.waitForFunction(wanted => {
    const element = document.querySelector(wanted);
    const box = element?.getBoundingClientRect();
    return box && box.top >= 0 && box.top < 100 && element.contains(document.elementFromPoint(box.left + 20, box.top + 2));
  }, selector);
  await isOnTop('#answer-title');
  program.server.signal('SIGSTOP');
  try {
    await isOnTop('#connection');
  } finally {
    program.server.signal('SIGCONT');
  }
  await visitor.page.locator('#connection').waitFor({ state: 'detached' });
  await visitor.isAsWideAsItsWindow();
  await visitor.end();
});

test('a run whose late seats hang is deleted at once', async () => {
  const { run, visitor } = await waiting([5]);
  for (const seat of [1, 2, 3, 4]) await visitor.sees(`#seat-${seat} .state`, 'answered');
  await button(visitor, 'Synthesize now').click();
  await visitor.page.getByRole('link', { name: 'Delete…' }).click();
  await button(visitor, 'Delete the run').click();
  await visitor.page.waitForURL('**/runs');
  assert.equal((await fetch(`${program.url}/runs/${run}.json`)).status, 404);
  await visitor.end();
});

test('a server that falls silent is told in words, clocks stop, buttons say why, and all goes on by itself', async () => {
  const { run, visitor } = await waiting([1]);
  await visitor.sees('#seat-2 .state', 'answered');
  const loads = visitor.requests.filter(url => url.endsWith(run)).length;
  program.server.signal('SIGSTOP');
  try {
    await visitor.sees('#connection[role=alert]', 'The server cannot be reached');
    const clock = () => visitor.text('.clock');
    const stopped = await clock();
    await pause(2_500);
    assert.equal(await clock(), stopped);
    await visitor.isAccessible();
  } finally {
    program.server.signal('SIGCONT');
  }
  await visitor.page.locator('#connection').waitFor({ state: 'detached' });
  assert.equal(visitor.requests.filter(url => url.endsWith(run)).length, loads, 'it was not loaded again');
  await button(visitor, 'Stop').click();
  await visitor.page.locator('.run:not([data-live])').waitFor();
  await visitor.end();
});

test('a button that cannot reach the server says so', async () => {
  const { visitor } = await waiting([1, 2, 3, 4, 5]);
  await visitor.page.route('**/stop', route => route.abort('connectionrefused'));
  await button(visitor, 'Stop').click();
  await visitor.sees('form[action$="/stop"] .notice', 'The server cannot be reached, so nothing was done');
  await visitor.page.unroute('**/stop');
  await button(visitor, 'Stop').click();
  await visitor.sees('#head .state', 'cancelled');
  await visitor.end();
});

test('a run is stopped with the keyboard alone', async () => {
  const { run, visitor } = await waiting([1, 2, 3, 4, 5]);
  const stop = button(visitor, 'Stop');
  for (let steps = 0; steps < 20 && !await stop.evaluate(element => element === document.activeElement); steps += 1) {
    await visitor.page.keyboard.press('Tab');
  }
  await visitor.page.keyboard.press('Enter');
  await visitor.sees('#head .state', 'cancelled');
  assert.equal((await program.ended(run)).status, 'cancelled');
  visitor.isClean();
  await visitor.end();
});

test('what is pressed while the page changes does its work', async () => {
  const { run, visitor } = await waiting([1, 2, 3, 4, 5]);
  for (const seat of [1, 2, 3, 4, 5]) await visitor.sees(`#seat-${seat} .state`, 'waiting for the first words');
  await visitor.page.locator('#timeline-table > summary').hover();
  await visitor.page.mouse.down();
  const other = await browser.visitor(program);
  await other.goto(`/runs/${run}`);
  await button(other, 'Stop').click();
  await visitor.sees('#announcer', 'The run is cancelled');
  await visitor.page.mouse.up();
  await visitor.page.locator('#timeline-table[open]').waitFor();
  await visitor.sees('#head .state', 'cancelled');
  visitor.isClean();
  await other.end();
  await visitor.end();
});

test('without the script a seat is skipped and a run is stopped by their forms', async () => {
  const { run, visitor } = await waiting([1, 2, 3, 4, 5], { javaScriptEnabled: false });
  await visitor.page.locator('noscript p').waitFor();
  // Each form leads back to the same address, so it is the load that shows its end.
  const send = async name => Promise.all([visitor.page.waitForEvent('load'), button(visitor, name).click()]);
  await send('Skip seat 2');
  await send('Stop');
  await program.ended(run);
  await visitor.page.reload();
  await visitor.sees('#seat-2 .state', 'cancelled');
  await visitor.sees('#head .state', 'cancelled');
  visitor.isClean();
  await visitor.end();
});

test('two texts are compared word by word', async () => {
  await program.script(FIVE[0], words('Take the small road.'));
  await program.script(FIVE[1], words('Take the long road.'));
  const run = await program.asked({ prompt: 'Which road?', models: FIVE.slice(0, 2), strategy: 'panel' });
  const visitor = await browser.visitor(program);
  await visitor.goto(`/runs/${run}`);
  await visitor.page.locator('select[name=left]').selectOption('1');
  await visitor.page.locator('select[name=right]').selectOption('2');
  await button(visitor, 'Show differences').click();
  await visitor.sees('h1', 'Differences');
  assert.equal((await visitor.text('.diff del')).trim(), 'small');
  assert.equal((await visitor.text('.diff ins')).trim(), 'long');
  visitor.isClean();
  await visitor.end();
});

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? '' : ' without the script';

  test(`a run is continued with another strategy${how}`, async () => {
    const { run, visitor } = await ended({}, { javaScriptEnabled });
    const before = await program.report(run);
    await visitor.page.getByLabel('Strategy').selectOption('best-of-n');
    await button(visitor, 'Make another text').click();
    await visitor.sees('#head', 'strategy best-of-n');
    const report = await program.ended(run);
    assert.equal(report.synthesis.kind, 'selected');
    assert.deepEqual(report.answers.map(answer => answer.text), before.answers.map(answer => answer.text));
    visitor.isClean();
    await visitor.end();
  });

  test(`a run is deleted after a question${how}, and is gone`, async () => {
    const { run, visitor } = await ended({}, { javaScriptEnabled });
    await visitor.page.getByRole('link', { name: 'Delete…' }).click();
    await visitor.sees('h1', 'Delete this run?');
    assert.equal((await fetch(`${program.url}/runs/${run}.json`)).status, 200, 'nothing is deleted before the answer');
    await button(visitor, 'Delete the run').click();
    await visitor.page.waitForURL('**/runs');
    assert.equal((await fetch(`${program.url}/runs/${run}.json`)).status, 404);
    await visitor.end();
  });
}

test('a seat that failed is asked again', async () => {
  await program.script(FIVE[1], { fault: 'credits' });
  const run = await program.asked({ prompt: 'Which is safer?', models: FIVE.slice(0, 3) });
  assert.deepEqual(statuses(await program.report(run)), ['answered', 'failed', 'answered']);
  await program.script(FIVE[1], { behaviour: AT_ONCE });
  const visitor = await browser.visitor(program);
  await visitor.goto(`/runs/${run}`);
  await visitor.page.locator('form[action$="/resume"] button').click();
  await visitor.sees('#seat-2 .state', 'answered');
  visitor.isClean();
  await visitor.end();
});

test('a form of another page does nothing', async () => {
  const { run, visitor } = await ended();
  const post = headers => fetch(`${program.url}/runs/${run}/delete`, {
    method: 'POST', redirect: 'manual', body: 'form_token=', headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });
  for (const headers of [{ origin: 'http://evil.example' }, { origin: program.url }, { 'sec-fetch-site': 'cross-site' }]) {
    assert.equal((await post(headers)).status, 403, JSON.stringify(headers));
  }
  assert.equal((await fetch(`${program.url}/runs/${run}.json`)).status, 200);
  await visitor.end();
});
