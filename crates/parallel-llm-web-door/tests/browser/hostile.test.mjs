// Answers that mean harm are shown as words: nothing of them runs, loads, moves or breaks the page.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOSTILE, LARGE } from './answers.mjs';
import { AT_ONCE, MODELS, until, words } from './program.mjs';
import { setUp } from './setup.mjs';

// What an answer may become. Attributes are those that the page itself sets.
const ELEMENTS = 'P PRE CODE EM STRONG DEL BLOCKQUOTE UL OL LI TABLE THEAD TBODY TR TH TD H3 H4 H5 H6 HR BR DIV SPAN'.split(' ');
const ATTRIBUTES = 'class tabindex start dir id data-bytes'.split(' ');
// How fast they are written, until the page is seen at least this often meanwhile: a busy machine loads it late.
const SLOWLY = [12, 6, 3].map(tokens_per_s => ({ ttft_ms: { mean: 0 }, tokens_per_s, chunk_tokens: 1 }));
const LOOKS_MIN = 3;
// A page with the largest texts; a busy machine takes longer.
const LOAD_MS_MAX = 15_000;

const { program, browser } = setUp();

const batches = (list, size) => Array.from({ length: Math.ceil(list.length / size) }, (_, index) => list.slice(index * size, (index + 1) * size));

// Asks as many models as there are texts: each answers with one. The question is hostile, too.
async function asked(texts, behaviour, strategy = 'panel') {
  const models = MODELS.slice(0, texts.length);
  for (const [index, model] of models.entries()) await program.script(model, words(texts[index][1], behaviour));
  const prompt = texts[0][1].replaceAll('\u0000', '').slice(0, 2_000);
  return program.ask({ prompt, models, strategy, max_tokens: 64_000 });
}

// Visits a run. A script of an answer that ran would be noticed.
async function visit(run, options) {
  const visitor = await browser.visitor(program, options);
  await visitor.page.exposeFunction('boom', number => { visitor.wrong.push(`the script of answer ${number} ran`); });
  await visitor.goto(`/runs/${run}`);
  return visitor;
}

// The elements and attributes of answers and questions that are not on the lists.
const strange = visitor => visitor.page.evaluate(([elements, attributes]) => {
  const boxes = document.querySelectorAll('.card-body > *, #answer .text, h1.question, #question-rest .prewrap, #details-prompt pre');
  const inside = [...boxes].flatMap(box => [...box.querySelectorAll('*')]).filter(element => !element.closest('.notice'));
  return inside.filter(element => !elements.includes(element.tagName) || element.getAttributeNames().some(name => !attributes.includes(name)))
    .map(element => element.outerHTML.slice(0, 200));
}, [ELEMENTS, ATTRIBUTES]);

const isReadable = (shown, [wanted]) => shown.includes(wanted);

async function holds(visitor, texts) {
  assert.deepEqual(await strange(visitor), []);
  const shown = await visitor.page.locator('.card-body').allTextContents();
  for (const [index, text] of texts.entries()) {
    assert.ok(isReadable(shown[index], text), `${text[0]} is not readable in ${shown[index].slice(0, 300)}`);
  }
  assert.ok(await visitor.page.locator('.top nav a').first().isVisible(), 'the page itself is broken');
}

// Everything in sight is pointed at, and every mark of a link clicked: whatever a reader may do.
async function pokes(visitor) {
  await visitor.page.evaluate(() => {
    for (const element of document.querySelectorAll('.card-body *')) {
      for (const name of ['mouseover', 'focus', 'click', 'toggle', 'animationstart']) element.dispatchEvent(new Event(name, { bubbles: true }));
    }
  });
}

test('no hostile answer becomes more than words', async () => {
  assert.ok(HOSTILE.length >= 60, `${HOSTILE.length}`);
  for (const texts of batches(HOSTILE, 15)) {
    const run = await asked(texts, AT_ONCE);
    await program.closed(run);
    const visitor = await visit(run);
    await holds(visitor, texts);
    await pokes(visitor);
    const requests = visitor.requests.map(url => new URL(url).pathname).filter(path => !path.startsWith('/assets/'));
    assert.deepEqual(requests, [`/runs/${run}`]);
    assert.equal(new URL(visitor.page.url()).pathname, `/runs/${run}`);
    visitor.isClean();
    await visitor.end();
  }
});

// Watches texts being written on the page. Returns how often it was looked at meanwhile.
async function watched(texts, behaviour) {
  const run = await asked(texts, behaviour);
  const visitor = await visit(run);
  let looks = 0;
  await until('the end on the page', async () => {
    assert.deepEqual(await strange(visitor), []);
    const isLive = await visitor.page.locator('.run[data-live]').count() > 0;
    if (isLive) looks += 1;
    return !isLive;
  });
  await holds(visitor, texts);
  await pokes(visitor);
  const requests = visitor.requests.map(url => new URL(url).pathname).filter(path => !path.startsWith('/assets/'));
  const own = [`/runs/${run}`, `/runs/${run}/live`, '/alive'];
  assert.ok(requests.every(path => own.includes(path)), requests.join(' '));
  visitor.isClean();
  await visitor.end();
  return looks;
}

test('no hostile answer becomes more than words while it is written', async () => {
  for (const texts of batches(HOSTILE, 15)) {
    let looks = 0;
    for (const behaviour of SLOWLY) {
      looks = await watched(texts, behaviour);
      if (looks >= LOOKS_MIN) break;
    }
    assert.ok(looks >= LOOKS_MIN, 'each run was over too early to prove anything');
  }
});

test('hostile answers stay words in a comparison', async () => {
  const texts = HOSTILE.slice(0, 2);
  const run = await asked(texts, AT_ONCE);
  await program.closed(run);
  const visitor = await browser.visitor(program);
  await visitor.goto(`/runs/${run}/compare?left=1&right=2`);
  const inside = await visitor.page.locator('.diff *').evaluateAll(elements => [...new Set(elements.map(element => element.tagName))].sort());
  assert.deepEqual(inside, ['DEL', 'INS', 'P']);
  assert.ok((await visitor.text('.diff')).includes('boom(1)'));
  visitor.isClean();
  await visitor.end();
});

test('hostile answers stay words in a prompt that shows them', async () => {
  const texts = HOSTILE.slice(0, 15);
  const run = await asked(texts, AT_ONCE, 'synthesize');
  await program.ended(run);
  const visitor = await browser.visitor(program);
  await visitor.goto(`/runs/${run}/prompts/synthesizer-1`);
  assert.equal(await visitor.page.locator('main pre *').count(), 0);
  assert.ok((await visitor.text('main section:last-of-type pre')).includes('boom(1)'));
  visitor.isClean();
  await visitor.end();
});

test('a script in an answer would be noticed', async () => {
  const run = await asked(HOSTILE.slice(0, 1), AT_ONCE);
  await program.closed(run);
  const visitor = await visit(run);
  await visitor.page.evaluate(() => {
    const image = document.createElement('img');
    image.src = 'https://evil.example/pixel.png';
    document.querySelector('.card-body .text').append(image);
    window.boom(0);
  });
  for (const what of [/answer 0 ran/, /policy violation: img-src https:\/\/evil\.example/]) {
    await until(`a report of ${what}`, () => visitor.wrong.some(text => what.test(text)));
  }
  assert.equal((await strange(visitor)).length, 1);
  await visitor.end();
});

test('deep and wide answers are shown within a bound', async () => {
  const run = await asked(LARGE, AT_ONCE);
  await program.closed(run);
  const begun = performance.now();
  const visitor = await visit(run);
  await holds(visitor, LARGE);
  const ms = Math.round(performance.now() - begun);
  console.log(`the page with deep and wide answers: ${ms} ms`);
  assert.ok(ms < LOAD_MS_MAX, `${ms} ms`);
  await visitor.isAsWideAsItsWindow();
  visitor.isClean();
  await visitor.end();
});

test('an answer of 8 MB is cut on the page, which links to the whole', async () => {
  await program.script(MODELS[0], { fault: 'flood', behaviour: AT_ONCE });
  const run = await program.asked({ prompt: 'Without end.', models: MODELS.slice(0, 2), strategy: 'panel', max_tokens: 64_000 });
  const [{ text_bytes: bytes }] = (await program.report(run)).answers;
  assert.ok(bytes > 7_000_000, `only ${bytes} bytes came`);
  const begun = performance.now();
  const visitor = await visit(run);
  const ms = Math.round(performance.now() - begun);
  console.log(`the page with 8 MB: ${ms} ms`);
  assert.ok(ms < LOAD_MS_MAX, `${ms} ms`);
  await visitor.sees('#seat-1-text .notice', /cut|first/i);
  const whole = await visitor.page.locator('#seat-1-text .notice a').getAttribute('href');
  assert.equal((await (await fetch(program.url + whole)).text()).length, bytes);
  visitor.isClean();
  await visitor.end();
});
