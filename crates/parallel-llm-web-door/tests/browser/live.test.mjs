// A run in progress: its texts grow, none is lost or doubled, and it can be steered from the page.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PHONE } from './browser.mjs';
import { MODELS, pause, until, words } from './program.mjs';
import { setUp } from './setup.mjs';
import { Wire } from './wire.mjs';

const FIVE = MODELS.slice(0, 5);
// About four seconds of text.
const STREAMING = { ttft_ms: { mean: 300 }, tokens_per_s: 80, chunk_tokens: 2 };
// A page that is live for longer has missed the end.
const WATCH_MS_MAX = 30_000;
const NEVER = { behaviour: { ttft_ms: { mean: 60_000 } } };

// Numbered words, so that a lost or doubled one shows.
const numbered = (name, count) => Array.from({ length: count }, (_, index) => `${name}${index}`).join(' ');

const { program, browser } = setUp();

// Five models that write, each at length; returns what each will have written.
async function scripted(count = 240) {
  const texts = FIVE.map((_, index) => numbered('abcde'[index], count));
  await Promise.all(FIVE.map((model, index) => program.script(model, words(texts[index], STREAMING))));
  return texts;
}

// Visits the page of a run that begins now. The texts that a synthesizer makes are not those of the five.
async function following(question, options = {}, server = program) {
  const visitor = await browser.visitor(server, options);
  const run = await program.ask({ prompt: 'Tell me at length.', models: FIVE, synthesizer: MODELS[5], ...question });
  await visitor.goto(`/runs/${run}`);
  return { run, visitor };
}

const columns = visitor => visitor.page.locator('.card-body .text').allTextContents();
const isLive = visitor => visitor.page.locator('.run[data-live]').count();

// What each column showed over time until the run ended. Every text is a beginning of the whole at all times.
async function watched(visitor, texts, between = () => {}) {
  const seen = [];
  for (const end = performance.now() + WATCH_MS_MAX; performance.now() < end;) {
    const live = await isLive(visitor);
    const shown = await columns(visitor);
    for (const [index, text] of shown.entries()) {
      assert.ok(texts[index].startsWith(text.trim()), `seat ${index + 1} shows what was not written: …${text.slice(-60)}`);
    }
    seen.push(shown.map(text => text.length));
    if (!live) return seen;
    await between(seen);
    await pause(50);
  }
  return assert.fail(`the page still calls the run live after ${WATCH_MS_MAX} ms: ${visitor.wrong.join(' | ')} ${JSON.stringify(seen.at(-1))}`);
}

async function showsAll(visitor, run, texts) {
  assert.deepEqual((await columns(visitor)).map(text => text.trim()), texts);
  const report = await program.ended(run);
  assert.deepEqual(report.answers.map(answer => answer.text), texts);
}

test('five columns fill at the same time, and end with the whole texts', async () => {
  const texts = await scripted();
  const { run, visitor } = await following({ strategy: 'panel' });
  const seen = await watched(visitor, texts);
  for (const [seat, text] of texts.entries()) {
    const growth = new Set(seen.map(lengths => lengths[seat]).filter(length => length > 0 && length < text.length));
    assert.ok(growth.size >= 5, `seat ${seat + 1} came in ${growth.size} pieces`);
  }
  assert.ok(seen.some(lengths => lengths.every((length, seat) => length > 0 && length < texts[seat].length)), 'they came one after the other');
  await showsAll(visitor, run, texts);
  visitor.isClean();
  await visitor.end();
});

test('a seat that the page knows as waiting is called writing as soon as it writes', async () => {
  for (const ms of [300, 600, 2_000]) {
    const text = words(numbered('a', 400), { ...STREAMING, ttft_ms: { mean: ms } });
    await Promise.all(FIVE.map(model => program.script(model, text)));
    const { visitor } = await following({ strategy: 'panel' });
    await visitor.sees('#seat-1 .state', 'writing');
    assert.equal(await isLive(visitor), 1);
    await visitor.page.getByRole('button', { name: 'Stop' }).click();
    await visitor.sees('#head .state', 'cancelled');
    visitor.isClean();
    await visitor.end();
  }
});

test('a reload in the middle loses and doubles nothing', async () => {
  const texts = await scripted();
  const { run, visitor } = await following({ strategy: 'panel' });
  let reloads = 0;
  await watched(visitor, texts, async seen => {
    if (reloads === 2 || seen.at(-1)[0] < (reloads + 1) * 200) return;
    reloads += 1;
    const before = await columns(visitor);
    await visitor.page.reload();
    const shown = await columns(visitor);
    for (const [seat, text] of shown.entries()) assert.ok(text.length >= before[seat].trim().length, 'the page forgot words');
  });
  assert.equal(reloads, 2);
  await showsAll(visitor, run, texts);
  visitor.isClean();
  await visitor.end();
});

test('a lost connection loses and doubles nothing', async () => {
  const texts = await scripted(400);
  const wire = await Wire.to(program);
  const { run, visitor } = await following({ strategy: 'panel' }, {}, wire);
  let cuts = 0;
  await watched(visitor, texts, async seen => {
    if (cuts === 2 || seen.at(-1)[0] < (cuts + 1) * 300) return;
    cuts += 1;
    wire.cut();
    await until('the page to come back in vain', () => wire.refused > 0);
    wire.join();
  });
  assert.equal(cuts, 2);
  await showsAll(visitor, run, texts);
  assert.deepEqual(visitor.wrong.filter(text => !/ERR_(CONNECTION|EMPTY|INCOMPLETE)/.test(text)), []);
  await visitor.end();
  wire.end();
});

test('a run of another process is followed, and steered there', async () => {
  const texts = await scripted(500);
  const other = program.process(['ask', 'Tell me from elsewhere.', ...FIVE.flatMap(model => ['-m', model]), '--strategy', 'panel', '--jsonl']);
  const [, run] = await other.prints(/"run_id":\s*"([0-9A-Z]{26})"/);
  const visitor = await browser.visitor(program);
  await until('the page of the run', async () => (await visitor.goto(`/runs/${run}`)).ok());
  visitor.wrong = visitor.wrong.filter(text => !text.includes('404'));
  await visitor.sees('#head', 'Another process runs this');
  assert.equal(await visitor.page.getByRole('button', { name: /Synthesize now|Stop|Skip/ }).count(), 0);
  const seen = await watched(visitor, texts);
  assert.ok(new Set(seen.map(lengths => lengths[0])).size >= 3, 'its texts came at once');
  await showsAll(visitor, run, texts);
  visitor.isClean();
  await visitor.end();
});

test('nothing moves what is read when the answer begins, grows and ends', async () => {
  const text = name => `# Plan ${name}\n\n${`${numbered(name, 20)} has **many** words, \`code\` too. `.repeat(2)}\n\n- one\n- two\n\n`.repeat(4);
  for (const [index, model] of FIVE.entries()) await program.script(model, words(text('abcde'[index]), STREAMING));
  // A text of the simulator's own: that of a synthesizer is shown when it has begun as it should.
  await program.script(MODELS[5], { behaviour: STREAMING });
  const visitor = await browser.visitor(program);
  await visitor.page.addInitScript(() => {
    window.shift = 0;
    new PerformanceObserver(list => { for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) window.shift += value; })
      .observe({ type: 'layout-shift', buffered: true });
  });
  const run = await program.ask({ prompt: 'Tell me at length.', models: FIVE, synthesizer: MODELS[5] });
  await visitor.goto(`/runs/${run}`);
  await visitor.page.locator('#answer .writing').waitFor();
  await visitor.page.locator('.run:not([data-live]) #answer .final').waitFor();
  const shift = await visitor.page.evaluate(() => window.shift);
  console.log(`layout shift ${shift.toFixed(3)}`);
  assert.ok(shift <= 0.1, `the page moved by ${shift}`);
  visitor.isClean();
  await visitor.end();
});

test('a text has its form while it is written, and the one that a reload shows at its end', async () => {
  const text = `# A plan\n\n${'It has **many** words. '.repeat(12)}\n\n- one \\(a_1\\,b\\)\n- two\n\n\`\`\`\nlet code = 1;\n\`\`\`\n\nEnd.`;
  await program.script(FIVE[0], words(text, STREAMING));
  const visitor = await browser.visitor(program);
  const run = await program.ask({ prompt: 'Tell me.', models: [FIVE[0]], strategy: 'panel' });
  await visitor.goto(`/runs/${run}`);
  await visitor.page.locator('.writing strong').first().waitFor();
  assert.ok(!(await visitor.text('#seat-1-text')).includes('# A plan'), 'it is shown as it is written');
  await visitor.page.locator('.run:not([data-live])').waitFor();
  const shown = () => visitor.page.locator('#seat-1-text').evaluate(element => element.outerHTML.replace(/>\s+</g, '><'));
  const atTheEnd = await shown();
  await visitor.page.reload();
  assert.equal(await shown(), atTheEnd);
  visitor.isClean();
  await visitor.end();
});

test('a column follows its text until its reader scrolls up', async () => {
  await program.script(FIVE[0], words(numbered('a', 2_000), { ttft_ms: { mean: 100 }, tokens_per_s: 300, chunk_tokens: 4 }));
  const visitor = await browser.visitor(program);
  await visitor.goto(`/runs/${await program.ask({ prompt: 'Tell me.', models: [FIVE[0]], strategy: 'panel' })}`);
  const box = visitor.page.locator('.card-body').first();
  const place = () => box.evaluate(({ scrollTop, scrollHeight, clientHeight }) => ({ scrollTop, rest: scrollHeight - clientHeight - scrollTop }));
  await until('the text to be followed', async () => (await place()).scrollTop > 100 && (await place()).rest < 40);
  await box.evaluate(element => { element.scrollTop = 20; });
  await until('more text', async () => (await place()).rest > 600);
  assert.equal((await place()).scrollTop, 20);
  visitor.isClean();
  await visitor.end();
});

test('progress is announced in sentences, and never word by word', async () => {
  await scripted();
  const { visitor } = await following({});
  await visitor.page.evaluate(() => {
    window.announced = [];
    new MutationObserver(() => window.announced.push(document.querySelector('#announcer').textContent))
      .observe(document.querySelector('#announcer'), { childList: true, characterData: true, subtree: true });
  });
  await visitor.page.locator('#answer .final').waitFor();
  const announced = await until('the end', () => visitor.page.evaluate(() => window.announced.at(-1) === 'The answer is here.' && window.announced));
  assert.ok(announced.length <= 7 && announced.every(text => /^(\d of 5 seats have ended|The answer is here)\.$/.test(text)), announced.join(' | '));
  assert.equal(await visitor.page.locator('[aria-live]:not([aria-live=off]), [role=log], [role=alert]').count(), 0);
  visitor.isClean();
  await visitor.end();
});

test('a live page is accessible in light and dark and on a phone', async () => {
  for (const options of [{ colorScheme: 'light' }, { colorScheme: 'dark' }, { viewport: PHONE }]) {
    // Texts that stand still, so that the page is live for as long as it is looked at.
    for (const model of FIVE.slice(0, 2)) await program.script(model, { ...words(numbered('a', 400)), fault: 'stall', after_tokens: 100 });
    await program.script(FIVE[2], words('Soon.'));
    await program.script(FIVE[3], { fault: 'credits' });
    await program.script(FIVE[4], NEVER);
    const { run, visitor } = await following({}, options);
    await visitor.sees('#seat-1 .state', 'writing');
    await visitor.isAccessible();
    await visitor.isAsWideAsItsWindow();
    assert.equal(await isLive(visitor), 1, 'the run ended too early to prove anything');
    await visitor.page.getByRole('button', { name: 'Stop' }).click();
    await program.ended(run);
    visitor.isClean();
    await visitor.end();
  }
});

test('what is open, typed and focused stays so while the page changes', async () => {
  await scripted(200);
  const { visitor } = await following({});
  await visitor.page.getByRole('button', { name: 'Skip seat 5' }).focus();
  await visitor.sees('#seat-5 .state', 'writing');
  assert.equal(await visitor.page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Skip seat 5');
  await visitor.page.locator('#timeline-table > summary').click();
  await visitor.page.locator('#answer .final').waitFor();
  assert.ok(await visitor.page.locator('#timeline-table').evaluate(details => details.open));
  assert.equal(await visitor.page.evaluate(() => document.activeElement.parentElement.id), 'timeline-table');
  visitor.isClean();
  await visitor.end();
});
