// What a file of tests needs: the program and a browser, from its first test to its last.

import { after, before } from 'node:test';
import { Browser } from './browser.mjs';
import { Program } from './program.mjs';

// Both. `prepare` is what a file does with them before its tests.
export function setUp({ words, settings, flows, prepare } = {}) {
  const [program, browser] = [new Program(words, settings, flows), new Browser()];
  before(async () => {
    await program.start();
    await browser.start();
    await prepare?.();
  });
  after(async () => {
    await browser.end();
    await program.end();
  });
  return { program, browser };
}
