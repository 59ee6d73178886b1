// Signing in: by the link that the server prints, once, in one browser, until it is ended.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PHONE } from './browser.mjs';
import { MODELS, until } from './program.mjs';
import { setUp } from './setup.mjs';

const { program, browser } = setUp({ words: [] });
// The links that were used.
const used = new Set();

// The path of the newest link that the server has printed.
async function link() {
  return until('a new link', () => {
    const links = [...program.server.errors.matchAll(/http:\/\/127\.0\.0\.1:\d+(\/sign-in\?code=\S+)\s/g)].map(([, path]) => path);
    return !used.has(links.at(-1)) && links.at(-1);
  });
}

// A visitor who has signed in.
async function signedIn(options = {}) {
  const visitor = await browser.visitor(program, options);
  const path = await link();
  await visitor.goto(path);
  // The script uses the link at once; without it, it is used by its button.
  if (options.javaScriptEnabled === false) await visitor.page.locator('#use-link button').click();
  await visitor.page.waitForURL(url => url.pathname !== '/sign-in');
  used.add(path);
  return { visitor, path };
}

// Where a visit of the models ends.
async function reached(visitor) {
  await visitor.goto('/models');
  return new URL(visitor.page.url()).pathname;
}

for (const options of [{}, { javaScriptEnabled: false }, { viewport: PHONE, colorScheme: 'dark' }]) {
  test(`the printed link signs in, ${JSON.stringify(options)}`, async () => {
    const { visitor } = await signedIn(options);
    assert.equal(await reached(visitor), '/models');
    await visitor.end();
  });
}

test('the link works once', async () => {
  const { visitor, path } = await signedIn();
  await visitor.end();
  const other = await browser.visitor(program);
  await other.goto(path);
  await other.page.locator('.notice.bad').waitFor();
  assert.equal(await reached(other), '/sign-in');
  await other.end();
});

test('without a session every page leads to the sign-in page, which is accessible', async () => {
  const visitor = await browser.visitor(program);
  assert.equal(await reached(visitor), '/sign-in');
  assert.match(visitor.page.url(), /to=%2Fmodels/);
  await visitor.isAccessible();
  await visitor.isAsWideAsItsWindow();
  visitor.isClean();
  await visitor.end();
});

test('signed out means signed out, and the old cookie stays dead', async () => {
  const { visitor } = await signedIn();
  await reached(visitor);
  const cookies = await visitor.page.context().cookies();
  assert.equal(cookies.length, 1);
  assert.ok(cookies[0].httpOnly && cookies[0].sameSite === 'Strict', JSON.stringify(cookies[0]));
  await visitor.page.getByRole('button', { name: 'Sign out' }).click();
  await visitor.page.waitForURL('**/sign-in**');
  assert.equal(await reached(visitor), '/sign-in');
  await visitor.page.context().addCookies(cookies);
  assert.equal(await reached(visitor), '/sign-in');
  await visitor.end();
});

test('the cookie of another port is not taken', async () => {
  const { visitor } = await signedIn();
  const [cookie] = await visitor.page.context().cookies();
  const other = await browser.visitor(program);
  await other.page.context().addCookies([{ ...cookie, name: cookie.name.replace(/\d+$/, '1') }]);
  assert.equal(await reached(other), '/sign-in');
  await other.end();
  await visitor.end();
});

// What a command prints.
async function printed(words) {
  const command = program.process(words);
  assert.equal(await command.ended, 0, command.errors);
  return command.output.trim();
}

// A visitor with a new token.
async function holder(name, words = []) {
  const token = (await printed(['keys', 'create', name, ...words])).split(/\s+/).at(-1);
  const visitor = await browser.visitor(program);
  await visitor.goto('/models');
  await visitor.page.getByLabel('Token').fill(token);
  await visitor.page.getByRole('button', { name: 'Sign in' }).click();
  await visitor.page.waitForURL('**/models');
  return visitor;
}

test('the holder of a token sees its own runs, and no persona of the owner', async () => {
  await printed(['ask', '--quiet', '--model', MODELS[0], 'What the owner asks.']);
  const { visitor: owner } = await signedIn();
  const visitor = await holder('anna');
  await visitor.goto('/ask');
  await visitor.page.getByLabel('Models of my choice').check();
  await visitor.page.getByLabel('Model 1', { exact: true }).fill(MODELS[0]);
  await visitor.page.getByLabel('Persona of model 1').selectOption('skeptic');
  await visitor.page.fill('#question', 'What Anna asks.');
  await visitor.page.getByRole('button', { name: 'Ask', exact: true }).click();
  await visitor.page.waitForURL(/\/runs\/[0-9A-Z]{26}$/);
  const run = new URL(visitor.page.url()).pathname;
  await visitor.sees('#seat-1 .state', 'answered');
  const questions = async one => {
    await one.goto('/runs');
    return (await one.text('main')).match(/What (the owner|Anna) asks\./g).sort();
  };
  assert.deepEqual(await questions(visitor), ['What Anna asks.']);
  assert.deepEqual(await questions(owner), ['What Anna asks.', 'What the owner asks.']);
  const sent = async one => {
    await one.goto(`${run}/prompts/seat-1`);
    return [await one.page.locator('main pre').allTextContents(), await one.page.locator('main .notice').count()];
  };
  assert.deepEqual(await sent(visitor), [['What Anna asks.'], 1]);
  const [messages, notes] = await sent(owner);
  assert.deepEqual([messages.length, messages[1], notes], [2, 'What Anna asks.', 0]);
  for (const one of [visitor, owner]) {
    one.isClean();
    await one.end();
  }
});

test('the holder of a token that may only read is not offered to ask', async () => {
  const visitor = await holder('reader', ['--scope', 'read']);
  await visitor.goto('/ask');
  await visitor.sees('main .notice', 'may read runs, but not ask');
  assert.equal(await visitor.page.locator('main form').count(), 0);
  await visitor.isAccessible();
  visitor.isClean();
  await visitor.end();
});

test('a lost session is told on a live page, and its question comes back after sign-in', async () => {
  for (const javaScriptEnabled of [true, false]) {
    const name = javaScriptEnabled ? 'cara' : 'dora';
    const token = (await printed(['keys', 'create', name])).split(/\s+/).at(-1);
    const visitor = await browser.visitor(program, { javaScriptEnabled });
    await visitor.goto('/ask');
    await visitor.page.getByLabel('Token').fill(token);
    await visitor.page.getByRole('button', { name: 'Sign in' }).click();
    await visitor.page.waitForURL('**/ask');
    await visitor.page.fill('#question', 'Is this "kept"?\nAnd <this>?');
    await visitor.page.fill('#budget', '0.75');
    await visitor.page.setInputFiles('#file', { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('words') });
    await visitor.page.context().clearCookies();
    await visitor.page.getByRole('button', { name: 'Ask', exact: true }).click();
    await visitor.sees('h1', 'Sign in to go on');
    await visitor.sees('main', 'And <this>?');
    if (javaScriptEnabled) await visitor.isAccessible();
    await visitor.page.getByLabel('Token, or the newest link').fill(token);
    await visitor.page.getByRole('button', { name: 'Sign in and go back' }).click();
    await visitor.sees('.notice', 'Nothing was asked yet');
    assert.equal(await visitor.page.inputValue('#question'), 'Is this "kept"?\nAnd <this>?');
    assert.equal(await visitor.page.inputValue('#budget'), '0.75');
    await visitor.sees('#attachments-gone', 'Choose the attachments again');
    await visitor.goto('/runs');
    await visitor.sees('.empty', 'There are no runs yet');
    await visitor.end();
  }
});

test('a live page says within seconds that its visitor is signed out, and goes on after sign-in elsewhere', async () => {
  await program.script(MODELS[1], { behaviour: { ttft_ms: { mean: 600_000 } } });
  const visitor = await holder('emil');
  await visitor.goto('/ask');
  await visitor.page.getByLabel('Models of my choice').check();
  await visitor.page.getByLabel('Model 1', { exact: true }).fill(MODELS[1]);
  await visitor.page.fill('#question', 'Is anybody there?');
  await visitor.page.getByRole('button', { name: 'Ask', exact: true }).click();
  await visitor.page.waitForURL(/\/runs\/[0-9A-Z]{26}$/);
  const cookies = await visitor.page.context().cookies();
  await visitor.page.context().clearCookies();
  await visitor.sees('#connection', 'You are signed out');
  await visitor.page.getByRole('button', { name: 'Stop' }).click();
  await visitor.sees('form[action$="/stop"] .notice', 'You are signed out, so nothing was done');
  await visitor.isAccessible();
  await visitor.page.context().addCookies(cookies);
  await visitor.page.locator('#connection').waitFor({ state: 'detached' });
  await visitor.page.getByRole('button', { name: 'Stop' }).click();
  await visitor.page.locator('.run:not([data-live])').waitFor();
  await visitor.end();
});
