// What a page weighs, and how it answers its visitor while sixty-four models write.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MODELS, words } from './program.mjs';
import { setUp } from './setup.mjs';

// The first load of a page with all it needs, compressed.
const FIRST_LOAD_BYTES_MAX = 100_000;
// The longest pause between two frames, for 99 of 100: nothing stands still, even on a machine that has other work.
const PAUSE_MS_MAX = 1_500;
// What browsers call a good score.
const LAYOUT_SHIFT_MAX = 0.1;
// Most seats of a run, and a few, which are the measure for many: the same machine draws both.
const SEATS = 64;
const FEW = 8;
// How many times longer half of the pauses may be with many seats: as many times as there are more seats, and a quarter.
const HALF_TIMES_MAX = (SEATS / FEW) * 1.25;
// Each text of a run with many seats, and how many times its bytes a page is sent while it follows the run.
const TEXT_BYTES = 20_000;
const TIMES_SENT_MAX = 3;
// A run of the longest texts, on a busy machine.
const RUN_MS_MAX = 180_000;
// The pages besides those of a run.
const PAGES = ['/ask', '/runs', '/models'];

const { program, browser } = setUp();

test('the first load of each page is light', async () => {
  const run = await program.asked({ prompt: 'Which is safer, and why?', models: MODELS.slice(0, 5) });
  for (const path of [`/runs/${run}`, `/runs/${run}/compare?left=1&right=2`, `/runs/${run}/delete`, ...PAGES]) {
    const visitor = await browser.visitor(program);
    const client = await visitor.page.context().newCDPSession(visitor.page);
    await client.send('Network.enable');
    const sizes = [];
    client.on('Network.loadingFinished', ({ encodedDataLength }) => sizes.push(encodedDataLength));
    assert.equal((await visitor.goto(path)).status(), 200, path);
    await visitor.page.waitForLoadState('networkidle');
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    console.log(`${path.replace(run, 'RUN')}: ${bytes} bytes in ${sizes.length} answers`);
    assert.ok(sizes.length >= 3, 'the style and the script are not counted');
    assert.ok(bytes <= FIRST_LOAD_BYTES_MAX, `${path} needs ${bytes} bytes`);
    visitor.isClean();
    await visitor.end();
  }
});

// Watches this many seats write. Returns a share of the pauses between frames in ms, by its part.
async function watched(seats) {
  const paragraph = index => `Paragraph ${index} has *some* words, ${'and more of them '.repeat(20)}\`end\`.`;
  const text = Array.from({ length: TEXT_BYTES / 400 }, (_, index) => paragraph(index)).join('\n\n');
  const models = MODELS.slice(0, Math.min(seats, 16));
  for (const model of models) await program.script(model, words(text, { ttft_ms: { mean: 800, jitter: 400 }, tokens_per_s: 400, chunk_tokens: 4 }));
  const visitor = await browser.visitor(program);
  const client = await visitor.page.context().newCDPSession(visitor.page);
  const streams = new Set();
  let bytes = 0;
  client.on('Network.requestWillBeSent', ({ requestId, request }) => { if (request.url.includes('/live?')) streams.add(requestId); });
  client.on('Network.dataReceived', ({ requestId, dataLength }) => { if (streams.has(requestId)) bytes += dataLength; });
  await client.send('Network.enable');
  await client.send('Performance.enable');
  const busy = async () => (await client.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value;
  await visitor.page.addInitScript(() => {
    window.measured = { pauses: [], shift: 0, moved: [] };
    new PerformanceObserver(list => {
      for (const entry of list.getEntries().filter(entry => !entry.hadRecentInput)) {
        window.measured.shift += entry.value;
        const names = entry.sources.slice(0, 3).map(({ node }) => node?.id || node?.className || node?.nodeName);
        window.measured.moved.push(`${entry.value.toFixed(3)} ${names.join(', ')}`);
      }
    }).observe({ type: 'layout-shift', buffered: true });
    let last = performance.now();
    const frame = now => {
      window.measured.pauses.push(now - last);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  const run = await program.ask({ prompt: 'All of you.', models: models.map(model => `${model}*${seats / models.length}`), strategy: 'panel' });
  await visitor.goto(`/runs/${run}`);
  assert.equal(await visitor.page.locator('.card').count(), seats);
  assert.equal(await visitor.page.locator('.run[data-live]').count(), 1, 'the run was over too early to prove anything');
  const [begun, busyBefore] = [performance.now(), await busy()];
  await visitor.page.locator('.run:not([data-live])').waitFor({ timeout: RUN_MS_MAX });
  const busyShare = (await busy() - busyBefore) * 1_000 / (performance.now() - begun);
  const { pauses, shift, moved } = await visitor.page.evaluate(() => window.measured);
  pauses.sort((one, other) => one - other);
  const share = part => Math.round(pauses[Math.floor((pauses.length - 1) * part)]);
  console.log(`${seats} seats: ${pauses.length} frames; pauses of ${share(0.5)} ms (half), ${share(0.99)} ms (99 of 100), ${share(1)} ms (all); layout shift ${shift.toFixed(3)}; ${bytes} bytes for ${seats * text.length} of text; main thread busy for ${Math.round(busyShare * 100)} %`);
  assert.ok(bytes > seats * text.length / 2, 'the stream was not counted');
  // With a few seats, what is said about them weighs as much as their texts.
  assert.ok(seats < SEATS || bytes <= TIMES_SENT_MAX * seats * text.length, `${seats * text.length} bytes of text were sent as ${bytes}`);
  assert.ok(shift <= LAYOUT_SHIFT_MAX, moved.join('; '));
  const bare = shown => shown.replace(/[\s*`]+/g, '');
  const shown = await visitor.page.locator('.card-body').allTextContents();
  assert.ok(shown.every(column => bare(column) === bare(text)), 'a text is not whole');
  visitor.isClean();
  await visitor.end();
  return share;
}

test(`the page answers its visitor while ${SEATS} models write`, async () => {
  const [few, many] = [await watched(FEW), await watched(SEATS)];
  assert.ok(many(0.5) <= HALF_TIMES_MAX * few(0.5), `half: ${many(0.5)} ms, and ${few(0.5)} ms with ${FEW} seats`);
  assert.ok(many(0.99) <= PAUSE_MS_MAX, `99 of 100: ${many(0.99)} ms`);
});
