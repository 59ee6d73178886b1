// Reading a run: in light and dark, on a phone, with the keyboard, without the script, in other scripts than Latin.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PHONE } from './browser.mjs';
import { AT_ONCE, MODELS, words } from './program.mjs';
import { setUp } from './setup.mjs';

const MARKDOWN = `# Plan

Use a *small* step, **measured**, with \`make check\`:

1. First, a list.
   - inside, a list
2. Second.

> Quoted.

| option | cost | risk | time | people | a very long column name that does not fit | another |
|---|---|---|---|---|---|---|
| a | 1 | 2 | 3 | 4 | ${'wide '.repeat(30)} | 6 |

\`\`\`
${'a line of code that is too long for any screen '.repeat(8)}
\`\`\`
`;
const ARABIC = 'نعم، هذا آمن. ابدأ بخطوة صغيرة ثم قِس النتيجة.';
// Code and maths in a text that runs from right to left.
const ARABIC_CODE = 'استخدم `let x = 1;` هنا، والصيغة \\(a_1\\,b \\le c\\) صحيحة:\n\n```\nfn main() { println!("x"); }\n```\n\n- بند أول';
const LONG = Array.from({ length: 3_000 }, (_, index) => `Line ${index} of a long answer.\n\n`).join('');
const HEBREW = 'כן, זה בטוח. התחילו בצעד קטן ומדדו את התוצאה.';

const FLOW = `[stages.one]
panel = "${MODELS[8]}"

[stages.two]
panel = "${MODELS[9]}"

[stages.merge]
from = ["one", "two"]
`;

const { program, browser } = setUp({ prepare, flows: { 'two-labs': FLOW } });
// The path of each state of a run by its name.
const pages = {};

async function prepare() {
  const [plain, markdown, failing, cut, slow] = MODELS;
  const run = async question => `/runs/${await program.asked(question)}`;
  await program.script(markdown, words(MARKDOWN));
  pages.complete = await run({ prompt: 'Which is safer, and why?', models: [plain, markdown, slow] });
  await program.script(failing, { fault: 'credits' });
  await program.script(cut, { fault: 'sse_cut', behaviour: AT_ONCE });
  pages.partial = await run({ prompt: 'Some of you fail.', models: [plain, failing, cut] });
  pages.failed = await run({ prompt: 'All of you fail.', models: [failing, `${failing}@max_tokens=100`] });
  await program.script(failing, words(ARABIC));
  await program.script(cut, words(HEBREW));
  pages.rightToLeft = await run({ prompt: 'هل هذا آمن؟', models: [failing, cut], strategy: 'panel' });
  await program.script(failing, words(ARABIC_CODE));
  await program.script(cut, words(LONG));
  pages.long = await run({ prompt: 'Why?', models: [failing, cut, plain], strategy: 'panel', max_tokens: 64_000 });
  pages.list = await run({ prompt: 'x'.repeat(3_000), models: [plain, markdown], strategy: 'panel' });
  pages.compare = `${pages.complete}/compare?left=1&right=2`;
  pages.prompt = `${pages.complete}/prompts/synthesizer-1`;
  pages.delete = `${pages.complete}/delete`;
  pages.ask = '/ask';
  pages.askAgain = `/ask?again=${pages.complete.split('/').at(-1)}`;
  pages.followUp = `/ask?continue=${pages.complete.split('/').at(-1)}`;
  pages.runs = '/runs';
  pages.found = '/runs?q=safer&status=complete';
  pages.nothingFound = '/runs?q=zebra';
  pages.signIn = '/sign-in';
  pages.missing = '/runs/01M857B5PWB53RKMB56KK5RPVE';
}

// Visits every page under these options.
async function everywhere(options, check) {
  const visitor = await browser.visitor(program, options);
  for (const [name, path] of Object.entries(pages)) {
    const answer = await visitor.goto(path);
    assert.equal(answer.status(), name === 'missing' ? 404 : 200, name);
    await check(visitor, name);
  }
  // The browser itself reports the page that does not exist.
  visitor.wrong = visitor.wrong.filter(text => !text.includes('404 (Not Found)'));
  visitor.isClean();
  await visitor.end();
}

test('every page is accessible in light and dark and on a phone, where nothing scrolls sideways', async () => {
  for (const options of [{ colorScheme: 'light' }, { colorScheme: 'dark' }, { viewport: PHONE }, { viewport: PHONE, colorScheme: 'dark' }]) {
    await everywhere(options, async visitor => {
      await visitor.isAsWideAsItsWindow();
      await visitor.isAccessible();
      await visitor.page.evaluate(() => { for (const details of document.querySelectorAll('details')) details.open = true; });
      await visitor.isAsWideAsItsWindow();
      await visitor.isAccessible();
    });
  }
});

test('what is not accessible is found', async () => {
  const visitor = await browser.visitor(program);
  await visitor.goto(pages.complete);
  await visitor.page.evaluate(() => { document.querySelector('h1').style.color = '#bbb'; });
  await assert.rejects(visitor.isAccessible(), /color-contrast/);
  await visitor.end();
});

test('dark mode is dark', async () => {
  const brightness = async colorScheme => {
    const visitor = await browser.visitor(program, { colorScheme });
    await visitor.goto(pages.complete);
    const colour = await visitor.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await visitor.end();
    return Math.max(...colour.match(/\d+/g).map(Number));
  };
  assert.ok(await brightness('dark') < 64);
  assert.ok(await brightness('light') > 192);
});

test('nothing moves for a visitor who asked for less motion', async () => {
  const moving = async reducedMotion => {
    const visitor = await browser.visitor(program, { reducedMotion });
    await program.script(MODELS[5], { behaviour: { ttft_ms: { mean: 60_000 } } });
    await visitor.goto(`/runs/${await program.ask({ prompt: 'Slowly.', models: [MODELS[5]] })}`);
    const count = await visitor.page.evaluate(() => document.getAnimations().length);
    await visitor.end();
    return count;
  };
  assert.equal(await moving('reduce'), 0);
  assert.ok(await moving('no-preference') > 0, 'nothing moves at all, so this proves nothing');
});

test('the keyboard reaches everything, its place is always visible, and it is never trapped', async () => {
  const visitor = await browser.visitor(program);
  await visitor.goto(pages.complete);
  const [focused, reachable] = [[], await visitor.page.evaluate(() =>
    [...document.querySelectorAll('a[href], button, select, input:not([type=hidden]), textarea:not([tabindex="-1"]), summary, [tabindex="0"]')]
      .filter(element => element.checkVisibility()).length)];
  for (let step = 0; step <= reachable; step += 1) {
    await visitor.page.keyboard.press('Tab');
    const place = await visitor.page.evaluate(() => {
      const element = document.activeElement;
      if (element === document.body) return null;
      element.dataset.focused ??= document.querySelectorAll('[data-focused]').length;
      const box = element.getBoundingClientRect();
      const inside = (from, to, size) => (Math.max(from, 0) + Math.min(to, size)) / 2;
      const shown = document.elementFromPoint(inside(box.left, box.right, innerWidth), inside(box.top, box.bottom, innerHeight));
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      return {
        name: element.dataset.focused, element: element.outerHTML.slice(0, 80),
        visible: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2 && element.contains(shown),
      };
    });
    if (!place) break;
    assert.ok(place.visible, `the focus is not visible: ${place.element}`);
    focused.push(place.name);
  }
  assert.equal(new Set(focused).size, focused.length, 'the focus came back before it had been everywhere');
  assert.equal(focused.length, reachable);
  visitor.isClean();
  await visitor.end();
});

test('a column has an end, scrolls by itself, and with the others if it is asked to', async () => {
  const visitor = await browser.visitor(program);
  await visitor.goto(pages.long);
  const columns = () => visitor.page.locator('.card-body').evaluateAll(boxes =>
    boxes.map(({ clientHeight, scrollHeight, scrollTop }) => ({ clientHeight, scrollHeight, scrollTop })));
  const [, long] = await columns();
  assert.ok(long.scrollHeight > 50_000 && long.clientHeight < 600, JSON.stringify(long));
  const height = await visitor.page.evaluate(() => document.documentElement.scrollHeight);
  assert.ok(height < 6_000, `the page is ${height} px tall`);
  await visitor.page.locator('#sync-scroll').check();
  await visitor.page.locator('.card-body').nth(1).evaluate(box => { box.scrollTop = box.scrollHeight; });
  await visitor.page.waitForFunction(() => [...document.querySelectorAll('.card-body')]
    .every(box => box.scrollTop + box.clientHeight >= box.scrollHeight - 2));
  await visitor.end();
});

test('a table on a phone scrolls before the name of a call is broken letter by letter', async () => {
  const visitor = await browser.visitor(program, { viewport: PHONE });
  await visitor.goto(pages.complete);
  const widths = await visitor.page.locator('#costs tbody th').evaluateAll(cells => cells.map(cell => cell.getBoundingClientRect().width));
  assert.equal(widths.length, 4);
  assert.ok(widths.every(width => width >= 140), widths.join(' '));
  await visitor.isAsWideAsItsWindow();
  await visitor.end();
});

test('code and maths run from left to right in a text that does not', async () => {
  const visitor = await browser.visitor(program);
  await visitor.goto(pages.long);
  const text = visitor.page.locator('#seat-1-text');
  assert.equal(await text.evaluate(element => getComputedStyle(element).direction), 'rtl');
  for (const selector of ['code', 'pre', 'pre code', '.maths']) {
    const [direction, align] = await text.locator(selector).first().evaluate(element => [getComputedStyle(element).direction, getComputedStyle(element).textAlign]);
    assert.equal(direction, 'ltr', selector);
    if (selector === 'pre') assert.equal(align, 'left');
  }
  assert.equal(await text.locator('.maths').textContent(), '\\(a_1\\,b \\le c\\)');
  visitor.isClean();
  await visitor.end();
});

test('the preset of a run stands on its page, and the list shows and filters by it', async () => {
  const run = await program.asked({ prompt: 'Quickly, please.', preset: 'quick' });
  const visitor = await browser.visitor(program);
  await visitor.goto(`/runs/${run}`);
  await visitor.sees('#head .facts', 'preset quick');
  await visitor.goto('/runs');
  await visitor.page.locator('.facet', { hasText: 'Preset or flow' }).locator('a', { hasText: 'quick' }).click();
  await visitor.page.waitForURL('**/runs?preset=quick');
  assert.deepEqual(await visitor.page.locator('.run-question a').evaluateAll(links => links.map(link => link.pathname)), [`/runs/${run}`]);
  await visitor.sees('.run-row .facts', 'quick');
  const { runs, facets } = await program.json('/runs.json?preset=quick');
  assert.deepEqual(runs.map(({ run_id, preset }) => [run_id, preset]), [[run, 'quick']]);
  assert.deepEqual(facets.presets.map(({ value, count }) => [value, count]), [['quick', 1]]);
  assert.ok(facets.models.every(({ value }) => !value.startsWith('#')));
  visitor.isClean();
  await visitor.end();
});

test('the flow of a run and its stages stand on its page, and the list filters by it', async () => {
  const run = await program.asked({ prompt: 'In stages, please.', preset: 'two-labs' });
  const visitor = await browser.visitor(program);
  await visitor.goto(`/runs/${run}`);
  await visitor.sees('#head .facts', 'flow two-labs');
  const stages = await visitor.page.locator('.stages li').allInnerTexts();
  assert.deepEqual(stages.map(stage => stage.split(' ')[0]), ['one', 'two', 'merge']);
  assert.match(stages[2], /reads one and two/);
  assert.ok(stages.every(stage => /done after/.test(stage)), stages.join(' | '));
  await visitor.isAccessible();
  await visitor.goto('/runs?preset=two-labs');
  assert.equal(await visitor.page.locator(`.run-question a[href="/runs/${run}"]`).count(), 1);
  visitor.isClean();
  await visitor.end();
});

test('the first step of the keyboard leads to the content', async () => {
  const visitor = await browser.visitor(program);
  await visitor.goto(pages.complete);
  await visitor.page.keyboard.press('Tab');
  await visitor.page.keyboard.press('Enter');
  await visitor.page.locator('#main:focus').waitFor();
  await visitor.end();
});

test('without its script a run is read as with it', async () => {
  const read = async javaScriptEnabled => {
    const visitor = await browser.visitor(program, { javaScriptEnabled });
    await visitor.goto(pages.complete);
    const texts = await visitor.page.locator('#answer .final, .card-body').allInnerTexts();
    visitor.isClean();
    await visitor.end();
    return texts;
  };
  const texts = await read(false);
  assert.equal(texts.length, 4);
  assert.ok(texts.every(text => text.trim().length > 20), texts.join('\n---\n'));
  assert.deepEqual(texts, await read(true));
});

test('what each model was sent is shown, with the answers of the others in it', async () => {
  const visitor = await browser.visitor(program);
  await visitor.goto(pages.complete);
  await visitor.page.locator('#details-prompts summary').click();
  assert.equal(await visitor.page.locator('#details-prompts a').count(), 4);
  await visitor.page.locator('#details-prompts a').last().click();
  await visitor.sees('h1', 'What a model was sent');
  const shown = await visitor.page.locator('main pre').allTextContents();
  const report = await program.report(pages.complete.split('/').at(-1));
  assert.equal(shown.length, 2);
  for (const { text } of report.answers) {
    for (const line of text.split('\n')) assert.ok(shown[1].includes(`\n| ${line}\n`), line);
  }
  const twin = await visitor.page.evaluate(path => fetch(`${path}.json`).then(answer => answer.json()), pages.prompt);
  assert.deepEqual(twin.messages.map(message => message.role), ['system', 'user']);
  assert.deepEqual(twin.messages.map(message => message.parts.map(part => part.text).join()), shown);
  visitor.isClean();
  await visitor.end();
});

test('the page shows the very texts of the report', async () => {
  const visitor = await browser.visitor(program);
  await visitor.goto(pages.rightToLeft);
  assert.equal((await visitor.text('#seat-1-text')).trim(), ARABIC);
  assert.equal((await visitor.text('#seat-2-text')).trim(), HEBREW);
  const report = await program.report(pages.rightToLeft.split('/').at(-1));
  assert.deepEqual(report.answers.map(answer => answer.text), [ARABIC, HEBREW]);
  await visitor.end();
});

test('answers and questions in Arabic and Hebrew run from right to left, others from left to right', async () => {
  const visitor = await browser.visitor(program);
  const direction = selector => visitor.page.locator(selector).evaluate(element => getComputedStyle(element).direction);
  await visitor.goto(pages.rightToLeft);
  assert.equal(await direction('h1'), 'rtl');
  assert.equal(await direction('#seat-1-text'), 'rtl');
  assert.equal(await direction('#seat-2-text'), 'rtl');
  assert.equal(await direction('main'), 'ltr');
  await visitor.goto(pages.complete);
  assert.equal(await direction('#seat-1-text'), 'ltr');
  await visitor.end();
});
