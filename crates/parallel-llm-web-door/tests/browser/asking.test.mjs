// Asking from the page, and finding it again: the price before anything is paid, refusals, a panel of one's own, attachments,
// search and filters; with the script and without it.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { MODELS, words } from './program.mjs';
import { setUp } from './setup.mjs';

const { program, browser } = setUp({
  prepare: async () => {
    for (const model of MODELS.slice(0, 3)) await program.script(model, words('Use a **queue**.'));
  },
});

// Fills in two models of one's own.
async function chooseTwo(visitor) {
  await visitor.page.getByLabel('Models of my choice').check();
  await visitor.page.getByLabel('Model 1', { exact: true }).fill(MODELS[0]);
  await visitor.page.getByLabel('Model 2', { exact: true }).fill(MODELS[1]);
}

const runOf = visitor => new URL(visitor.page.url()).pathname.split('/').at(-1);

test('a question gets its price while it is typed, and is asked with the panel that was chosen', async () => {
  const visitor = await browser.visitor(program);
  await visitor.goto('/ask');
  await chooseTwo(visitor);
  await visitor.page.getByLabel('Persona of model 2').selectOption('skeptic');
  await visitor.page.fill('#question', 'Where do we keep the jobs?');
  await visitor.sees('#quote', /about \$[\d.]+ .*at most \$[\d.]+.*The budget is \$/s);
  await visitor.sees('#quote', MODELS[1]);
  const { live, runs } = await program.json('/runs.json');
  assert.deepEqual([live, runs], [[], []], 'nothing was asked for the price');
  await visitor.page.setInputFiles('#file', { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('the attached words') });
  await visitor.page.getByRole('button', { name: 'Ask', exact: true }).click();
  await visitor.page.waitForURL(/\/runs\/[0-9A-Z]{26}$/);
  const report = await program.ended(runOf(visitor));
  assert.deepEqual(report.answers.map(({ model, persona }) => [model, persona ?? null]), [[MODELS[0], null], [MODELS[1], 'skeptic']]);
  await visitor.sees('#answer', 'Use a queue.');
  const plan = await (await fetch(`${program.url}/runs/${runOf(visitor)}/plan.json`)).text();
  assert.match(plan, /the attached words/);
  // A follow-up goes to the same panel.
  const first = runOf(visitor);
  await visitor.page.getByRole('link', { name: 'Ask a follow-up' }).click();
  await visitor.sees('.ask-options', 'The same panel');
  assert.ok(await visitor.page.getByLabel('The same panel').isChecked());
  await visitor.page.fill('#question', 'And who empties it?');
  await visitor.page.getByRole('button', { name: 'Ask', exact: true }).click();
  await visitor.page.waitForURL(/\/runs\/[0-9A-Z]{26}$/);
  const next = await program.ended(runOf(visitor));
  assert.equal(next.continues, first);
  assert.deepEqual(next.answers.map(({ model, persona }) => [model, persona ?? null]), [[MODELS[0], null], [MODELS[1], 'skeptic']]);
  assert.equal(await visitor.page.getByRole('link', { name: 'an earlier run' }).getAttribute('href'), `/runs/${first}`);
  visitor.isClean();
  await visitor.end();
});

test('a question that cannot be asked comes back with the reason and with all that was typed', async () => {
  for (const javaScriptEnabled of [true, false]) {
    const visitor = await browser.visitor(program, { javaScriptEnabled });
    const before = (await program.json('/runs.json')).runs.length;
    for (const [field, value, reason] of [
      ['#budget', '0.0001', /budget/],
      ['#budget', 'a lot', /the field “Budget” is an amount in US dollars such as 0.50, not `a lot`/],
    ]) {
      await visitor.goto('/ask');
      await visitor.page.fill('#question', 'What is refused?');
      await visitor.page.fill(field, value);
      await visitor.page.getByRole('button', { name: 'Ask', exact: true }).click();
      await visitor.sees('#ask-error[role=alert]', reason);
      await visitor.sees('#ask-error', 'nothing was paid');
      assert.equal(await visitor.page.inputValue('#question'), 'What is refused?');
      assert.equal(await visitor.page.inputValue(field), value);
      if (javaScriptEnabled) await visitor.isAccessible();
    }
    assert.equal((await program.json('/runs.json')).runs.length, before);
    await visitor.end();
  }
});

test('without the script a question is priced and asked by the same form', async () => {
  const visitor = await browser.visitor(program, { javaScriptEnabled: false });
  await visitor.goto('/ask');
  await chooseTwo(visitor);
  await visitor.page.fill('#question', 'And without a script?');
  await visitor.page.getByRole('button', { name: 'Show the price' }).click();
  await visitor.sees('#quote', /at most \$/);
  assert.equal(await visitor.page.inputValue('#question'), 'And without a script?');
  await visitor.page.getByRole('button', { name: 'Ask', exact: true }).click();
  await visitor.page.waitForURL(/\/runs\/[0-9A-Z]{26}$/);
  await program.ended(runOf(visitor));
  await visitor.page.reload();
  await visitor.sees('#answer', 'Use a queue.');
  visitor.isClean();
  await visitor.end();
});

test('a question is asked with the keyboard alone', async () => {
  const visitor = await browser.visitor(program);
  await visitor.goto('/ask');
  // The browser gives the focus to the field with its first frame, which may come after the load.
  await visitor.page.locator('#question:focus').waitFor();
  await visitor.page.keyboard.type('Only keys.');
  await visitor.page.keyboard.press('Control+Enter');
  await visitor.page.waitForURL(/\/runs\/[0-9A-Z]{26}$/);
  await visitor.sees('h1', 'Only keys.');
  visitor.isClean();
  await visitor.end();
});

test('runs are found by their words and by filters, and a filter is taken back', async () => {
  const [one, two] = [
    await program.asked({ prompt: 'Is a zebra striped?', models: [MODELS[0]], strategy: 'panel' }),
    await program.asked({ prompt: 'Is a zebra fast?', models: [MODELS[0], MODELS[1]], strategy: 'vote' }),
  ];
  const visitor = await browser.visitor(program);
  const found = async () => (await visitor.page.locator('.run-question a').evaluateAll(links => links.map(link => link.pathname.split('/').at(-1))));
  await visitor.goto('/runs');
  await visitor.page.getByLabel('Search questions and answers').fill('zebra');
  await visitor.page.keyboard.press('Enter');
  await visitor.page.waitForURL(/q=zebra/);
  assert.deepEqual((await found()).sort(), [one, two].sort());
  await visitor.sees('mark', 'zebra');
  await visitor.page.locator('.facet a', { hasText: 'vote' }).click();
  await visitor.page.waitForURL(/strategy=vote/);
  assert.deepEqual(await found(), [two]);
  await visitor.page.locator('.facet a[aria-current]').click();
  await visitor.page.waitForURL(url => !url.search.includes('strategy'));
  assert.equal((await found()).length, 2);
  await visitor.page.getByLabel('Search questions and answers').fill('nobody said this');
  await visitor.page.keyboard.press('Enter');
  await visitor.sees('.empty', 'No run matches');
  visitor.isClean();
  await visitor.end();
});

test('a file that seems to hold secrets is sent only if the visitor says so', async () => {
  const visitor = await browser.visitor(program);
  const file = { name: '.env', mimeType: 'text/plain', buffer: Buffer.from(`STRIPE_KEY=${'sk_live_'}${'4eC39HqLyjWDarjtT1zdp7dc'}\n`) };
  await visitor.goto('/ask');
  await chooseTwo(visitor);
  await visitor.page.fill('#question', 'Is this file right?');
  await visitor.page.setInputFiles('#file', file);
  await visitor.page.getByRole('button', { name: 'Ask', exact: true }).click();
  await visitor.sees('#ask-error', 'Send files although they seem to hold secrets');
  // The box is in sight, and the file is still there.
  await visitor.sees('#kept', '.env');
  await visitor.isAccessible();
  await visitor.page.getByLabel('Send files although they seem to hold secrets').check();
  await visitor.page.getByRole('button', { name: 'Ask', exact: true }).click();
  await visitor.page.waitForURL(/\/runs\/[0-9A-Z]{26}$/);
  await program.ended(runOf(visitor));
  await visitor.end();
});

test('the files whose price was shown are sent with the question, but for those that were unticked', async () => {
  for (const javaScriptEnabled of [true, false]) {
    const visitor = await browser.visitor(program, { javaScriptEnabled });
    await visitor.goto('/ask');
    await chooseTwo(visitor);
    await visitor.page.fill('#question', `What do they say, ${javaScriptEnabled}?`);
    const file = (name, text) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
    await visitor.page.setInputFiles('#file', [file('one.txt', 'the first words'), file('two.txt', 'the second words')]);
    await visitor.page.getByRole('button', { name: 'Show the price' }).click();
    await visitor.sees('#quote', 'Attached: 2 files');
    await visitor.page.getByLabel('two.txt').uncheck();
    await visitor.page.getByRole('button', { name: 'Ask', exact: true }).click();
    await visitor.page.waitForURL(/\/runs\/[0-9A-Z]{26}$/);
    await program.ended(runOf(visitor));
    const plan = await (await fetch(`${program.url}/runs/${runOf(visitor)}/plan.json`)).text();
    assert.match(plan, /the first words/);
    assert.doesNotMatch(plan, /the second words/);
    visitor.isClean();
    await visitor.end();
  }
});

test('a folder is counted as it is chosen, and attached without what is hidden', async () => {
  const folder = join(await mkdtemp(join(tmpdir(), 'page-')), 'src');
  await mkdir(join(folder, '.git'), { recursive: true });
  await writeFile(join(folder, 'main.rs'), 'fn main() {}');
  await writeFile(join(folder, '.git', 'config'), 'the hidden words');
  const visitor = await browser.visitor(program);
  await visitor.goto('/ask');
  await chooseTwo(visitor);
  await visitor.page.fill('#question', 'Review this.');
  await visitor.page.setInputFiles('#folder', folder);
  await visitor.sees('#attached', '1 file, 12 bytes.');
  await visitor.page.getByRole('button', { name: 'Ask', exact: true }).click();
  await visitor.page.waitForURL(/\/runs\/[0-9A-Z]{26}$/);
  await program.ended(runOf(visitor));
  const plan = await (await fetch(`${program.url}/runs/${runOf(visitor)}/plan.json`)).text();
  assert.match(plan, /src\/main\.rs/);
  assert.doesNotMatch(plan, /the hidden words/);
  visitor.isClean();
  await visitor.end();
});
