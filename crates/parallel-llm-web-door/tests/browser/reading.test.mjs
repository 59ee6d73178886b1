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
const HEBREW = 'כן, זה בטוח. התחילו בצעד קטן ומדדו את התוצאה.';

const { program, browser } = setUp({ prepare });
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
