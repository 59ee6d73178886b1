// A real browser whose every page is watched: what it requests, what its scripts throw, what its policy refuses.
//
// `CHROMIUM` is the path of the browser. Nothing outside of loopback can be reached.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

// The time that one step of a page may take on a busy machine, the end of a run of seconds included.
const STEP_MS_MAX = 30_000;

export const WIDE = { width: 1280, height: 900 };
export const PHONE = { width: 320, height: 640 };

export class Browser {
  #browser;

  async start() {
    this.#browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      // Root, as in most containers, cannot use the browser's sandbox.
      chromiumSandbox: process.getuid?.() !== 0,
      args: ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'],
    });
  }

  // A visitor of this server, with a profile of its own.
  async visitor(program, options = {}) {
    const context = await this.#browser.newContext({ viewport: WIDE, reducedMotion: 'reduce', ...options });
    context.setDefaultTimeout(STEP_MS_MAX);
    return Visitor.of(context, program, options.javaScriptEnabled ?? true);
  }

  async end() {
    await this.#browser?.close();
  }
}

// One visitor: a page, and everything that must not happen on it.
export class Visitor {
  page; requests = []; wrong = [];
  #program; #context; #hasScript;

  static async of(context, program, hasScript) {
    const visitor = new Visitor();
    visitor.#context = context;
    visitor.#program = program;
    visitor.#hasScript = hasScript;
    context.on('request', request => visitor.#requested(request.url()));
    if (hasScript) {
      await context.exposeFunction('reportViolation', text => { visitor.wrong.push(text); });
      await context.addInitScript(() => document.addEventListener('securitypolicyviolation', event =>
        window.reportViolation(`policy violation: ${event.effectiveDirective} ${event.blockedURI} ${event.sample}`)));
    }
    visitor.page = await context.newPage();
    visitor.page.on('pageerror', error => visitor.wrong.push(`script error: ${error.stack}`));
    visitor.page.on('console', message => {
      if (['error', 'warning'].includes(message.type())) visitor.wrong.push(`console: ${message.text()}`);
    });
    visitor.page.on('dialog', dialog => {
      visitor.wrong.push(`dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    visitor.page.on('popup', popup => visitor.wrong.push(`window: ${popup.url()}`));
    return visitor;
  }

  #requested(url) {
    this.requests.push(url);
    if (new URL(url).origin !== this.#program.url) this.wrong.push(`request to another host: ${url}`);
  }

  async goto(path) {
    return this.page.goto(this.#program.url + path);
  }

  // Waits until a selector shows a text.
  async sees(selector, text) {
    await this.page.locator(selector).filter({ hasText: text }).first().waitFor();
  }

  async text(selector) {
    return this.page.locator(selector).innerText();
  }

  // Nothing has happened that must not: no foreign request, script error, policy violation, dialog or window.
  isClean() {
    assert.deepEqual(this.wrong, []);
  }

  // What axe-core finds on the page as it is.
  async isAccessible() {
    await this.page.evaluate(AXE);
    const violations = await this.page.evaluate(async rules => {
      const found = await window.axe.run(document, { runOnly: rules, resultTypes: ['violations'] });
      return found.violations.map(({ id, nodes }) =>
        `${id}: ${nodes.slice(0, 3).map(node => `${node.html.slice(0, 160)} ${node.failureSummary}`).join(' | ')}`);
    }, RULES);
    assert.deepEqual(violations, [], this.page.url());
  }

  // The page itself does not scroll sideways; tables and strips scroll in their own boxes.
  async isAsWideAsItsWindow() {
    const [content, window] = await this.page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(content <= window, `the content is ${content} px wide, the window ${window} px: ${await this.#widest()}`);
  }

  async #widest() {
    return this.page.evaluate(() => [...document.querySelectorAll('main *, header *')]
      .filter(element => element.getBoundingClientRect().right > innerWidth + 1 && !element.parentElement.closest('.wide, .strip, pre'))
      .slice(0, 3).map(element => element.outerHTML.slice(0, 120)).join(' | '));
  }

  async end() {
    await this.#context.close();
  }
}
