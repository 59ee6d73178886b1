// What a page does beyond being read: it follows a run, scrolls answers together, copies texts and sends forms in place.
// HTML comes from this server only, where model text was made harmless, finished or in progress.

const policy = window.trustedTypes?.createPolicy('page', { createHTML: html => html }) ?? { createHTML: html => html };
const find = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

function parsed(html) {
  const template = document.createElement('template');
  template.innerHTML = policy.createHTML(html);
  return template.content.firstElementChild;
}

function reveal(within) {
  for (const element of all('.js-only', within)) element.hidden = false;
  for (const time of all('time:not([data-local])', within)) localise(time);
}

// A moment in the visitor's own time, with UTC behind it.
function localise(time) {
  time.dataset.local = '';
  const local = new Date(time.dateTime).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
  time.textContent = `${local} (${time.textContent})`;
}

function announce(text) {
  find('#announcer').textContent = text;
}

// --- Whether the server is there ---

// A stream that has been silent for so long is not there; the server says each second that it is.
const SILENCE_MS_MAX = 2_500;
// The longest wait for a sign of the server: with the silence before it, a page tells of a dead one within 5 seconds.
const SIGN_MS_MAX = 1_500;
// The pause between two looks whether the session is in force, which the stream does not tell.
const SESSION_MS = 3_000;
// The pause between two looks for a server that is away.
const LOOK_MS = 1_000;
// The longest wait for what a button does; the server answers when it is begun.
const ACTION_MS_MAX = 15_000;

const signIn = () => Object.assign(document.createElement('a'), {
  href: `/sign-in?to=${encodeURIComponent(location.pathname)}`, textContent: 'Sign in again',
});

// Whether the server answers, and to this session: 'here', 'out' or 'away'.
async function serverState() {
  try {
    const answer = await fetch('/alive', { cache: 'no-store', headers: { accept: 'application/json' }, signal: AbortSignal.timeout(SIGN_MS_MAX) });
    return answer.ok ? 'here' : answer.status === 401 ? 'out' : 'away';
  } catch {
    return 'away';
  }
}

function notice(...content) {
  const element = document.createElement('p');
  element.className = 'notice bad';
  element.setAttribute('role', 'alert');
  element.append(...content);
  return element;
}

// Tells what is wrong with the connection of a live page, and takes it back.
function tellConnection(state) {
  const run = find('.run');
  if ((run.dataset.connection ?? 'here') === state) return;
  find('#connection')?.remove();
  if (state === 'here') {
    delete run.dataset.connection;
    for (const old of all('form > .notice', run)) old.remove();
    announce('The connection is back.');
    return;
  }
  run.dataset.connection = state;
  const since = `This page shows the run as it was at ${new Date().toLocaleTimeString()}`;
  const told = {
    away: [`The server cannot be reached. ${since}. It goes on by itself when the server is back.`],
    out: [`You are signed out. ${since}. `, signIn(), ', here or in another tab: then it goes on.'],
    refused: [`The server is there, but does not show this run at the moment. ${since}. Reload it to see why.`],
  };
  const element = notice(...told[state]);
  element.id = 'connection';
  run.prepend(element);
}

// --- A run in progress ---

class Live {
  #run; #seq; #source; #heard = performance.now(); #asked = performance.now(); #isLooking = false; #refusals = 0; #pieces = []; #sections = new Map(); #frame = 0; #isOver = false;

  constructor(run) {
    this.#run = run.dataset.run;
    this.#seq = Number(run.dataset.seq);
    this.#connect();
    setInterval(() => this.#tick(), 1000);
    setInterval(() => this.#listen(), 250);
  }

  #connect() {
    // What is not drawn yet comes again: the address says what is.
    this.#pieces = [];
    const at = all('.writing[data-bytes]').map(({ id, dataset }) => [id.replace(/-text$/, ''), dataset.at, dataset.bytes, dataset.finished, dataset.chain].join(':'));
    this.#source = new EventSource(`/runs/${this.#run}/live?seq=${this.#seq}&at=${at.join(',')}`);
    this.#heard = performance.now();
    for (const event of ['open', 'beat', 'sections', 'texts']) this.#source.addEventListener(event, () => this.#hear());
    this.#source.addEventListener('sections', message => this.#take(JSON.parse(message.data)));
    this.#source.addEventListener('texts', message => this.#write(JSON.parse(message.data)));
    this.#source.addEventListener('error', () => this.#look());
  }

  #hear() {
    this.#heard = performance.now();
    this.#refusals = 0;
    tellConnection('here');
  }

  // A connection that was cut without a word brings no error either.
  async #listen() {
    if (this.#isOver || this.#isLooking) return;
    const now = performance.now();
    if (now - this.#heard > SILENCE_MS_MAX) return this.#look();
    if (now - this.#asked < SESSION_MS) return;
    this.#asked = now;
    if (await serverState() === 'out') this.#look();
  }

  // The positions in the address have changed since the stream began, so the browser's own way back is not used.
  async #look() {
    if (this.#isLooking || this.#isOver) return;
    this.#isLooking = true;
    this.#source.close();
    for (;;) {
      const state = await serverState();
      if (state === 'here') break;
      tellConnection(state);
      await new Promise(resolve => setTimeout(resolve, LOOK_MS));
    }
    this.#refusals += 1;
    if (this.#refusals > 3) tellConnection('refused');
    if (this.#refusals > 1) await new Promise(resolve => setTimeout(resolve, LOOK_MS));
    this.#isLooking = false;
    this.#connect();
  }

  #take({ seq, sections, live, announce: words }) {
    this.#seq = seq;
    for (const [id, html] of Object.entries(sections)) {
      this.#sections.set(id, html);
      // Pieces of a text that came before a section with it are older than it.
      if (html.includes('-text"')) this.#pieces = this.#pieces.filter(({ slot }) => !html.includes(`id="${slot}-text"`));
    }
    if (words) announce(words);
    if (!live) {
      this.#source.close();
      this.#isOver = true;
    }
    this.#draw();
  }

  #write(pieces) {
    this.#pieces.push(...pieces);
    this.#draw();
  }

  // A button that is replaced between press and release does nothing, so the page waits for the release.
  #draw() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      if (find('.run :is(button, summary):active')) return this.#draw();
      for (const [id, html] of this.#sections) replace(id, html);
      this.#sections.clear();
      for (const piece of this.#pieces) Text.of(piece.slot)?.take(piece);
      this.#pieces = [];
      Text.follow();
      if (this.#isOver) find('.run').removeAttribute('data-live');
    });
  }

  #tick() {
    if (find('.run').dataset.connection) return;
    for (const clock of all('.clock[data-ms]')) {
      const ms = Number(clock.dataset.ms) + 1000;
      clock.dataset.ms = ms;
      const seconds = Math.floor(ms / 1000);
      clock.textContent = seconds < 100 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
    }
  }
}

// A text on its way: blocks that are finished, and behind them open ones, which change with each piece.
class Text {
  static #texts = new WeakMap(); static #grown = new Set();
  #element; #open = [];

  static of(slot) {
    const element = document.getElementById(`${slot}-text`);
    if (!element?.dataset.bytes) return null;
    if (!Text.#texts.has(element)) Text.#texts.set(element, new Text(element));
    return Text.#texts.get(element);
  }

  constructor(element) {
    this.#element = element;
  }

  take({ keep, from, html, finished, at, bytes, chain, is_anew: isAnew, is_whole: isWhole }) {
    const element = this.#element;
    if (isAnew) [element.dataset.finished, element.dataset.chain, this.#open] = [0, 0, []];
    const before = Number(element.dataset.finished);
    const blocks = html.map((block, index) => (index ? block : (this.#open[keep] ?? '').slice(0, from) + block));
    this.#open.splice(keep, Infinity, ...blocks);
    while (element.children.length > before + keep) element.lastElementChild.remove();
    element.append(...blocks.map(parsed));
    this.#open.splice(0, finished);
    Object.assign(element.dataset, { at, bytes, finished: before + finished });
    if (chain) element.dataset.chain = chain;
    const box = element.closest('.card-body');
    if (box) Text.#grown.add(box);
    if (!isWhole) return;
    element.classList.remove('writing');
    for (const name of ['at', 'bytes', 'finished', 'chain']) delete element.dataset[name];
  }

  // A column shows its newest words unless its reader has left the end. One out of sight waits: to be measured it would be laid out.
  static follow() {
    for (const box of Text.#grown) {
      if (!box.checkVisibility({ contentVisibilityAuto: true })) continue;
      if (!box.hasAttribute('data-left')) box.scrollTop = box.scrollHeight;
      Text.#grown.delete(box);
    }
  }
}

// Whoever scrolls up reads; whoever scrolls to the end follows again.
function watchEnds(strip) {
  strip.addEventListener('scroll', ({ target: box }) => {
    if (box === strip) Text.follow();
    else box.toggleAttribute('data-left', box.scrollTop + box.clientHeight < box.scrollHeight - 40);
  }, true);
}

// Replaces a section; what is open, focused or typed in it stays so.
function replace(id, html) {
  const old = document.getElementById(id);
  const fresh = parsed(html);
  if (!old || !fresh) return;
  const active = old.contains(document.activeElement) ? document.activeElement : null;
  for (const details of all('details[open][id]', old)) {
    const twin = fresh.querySelector(`#${CSS.escape(details.id)}`);
    if (twin) twin.open = true;
  }
  for (const field of all('input[name]:not([type=hidden]), select[name]', old)) {
    const twin = same(field, fresh);
    if (twin && isChanged(field)) twin.value = field.value;
  }
  // Why a button did nothing stands until it is pressed again.
  for (const told of all('form > .notice', old)) {
    find(`form[action="${CSS.escape(told.parentElement.getAttribute('action'))}"]`, fresh)?.append(told);
  }
  reveal(fresh);
  if (active && replaceAround(active, old, fresh)) return;
  old.replaceWith(fresh);
  if (active) same(active, fresh)?.focus({ preventScroll: true });
}

// Whether a field has another value than it came with: what nobody chose follows what the server offers by now.
function isChanged(field) {
  const offered = field.options ? (find('[selected]', field) ?? field.options[0])?.value : field.defaultValue;
  return field.value !== (offered ?? '');
}

// Replaces all but the child with the focus, if that has not changed: a screen reader reads a new one aloud.
function replaceAround(active, old, fresh) {
  const kept = [...old.children].find(child => child.contains(active));
  const children = [...fresh.children];
  const at = kept ? children.findIndex(child => child.outerHTML === kept.outerHTML) : -1;
  if (at < 0) return false;
  for (const child of [...old.children]) if (child !== kept) child.remove();
  kept.before(...children.slice(0, at));
  kept.after(...children.slice(at + 1));
  for (const { name, value } of fresh.attributes) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  return true;
}

// The element of a new section that stands for one of the old.
function same(element, within) {
  if (element.id) return find(`#${CSS.escape(element.id)}`, within);
  const what = element.name ? `[name="${CSS.escape(element.name)}"]` : element.localName;
  const form = element.closest('form')?.getAttribute('action');
  if (form) return find(`form[action="${CSS.escape(form)}"] ${what}`, within);
  const href = element.getAttribute('href');
  if (href) return find(`[href="${CSS.escape(href)}"]`, within);
  return find(`#${CSS.escape(element.closest('[id]').id)} ${what}`, within);
}

// --- Answers that scroll together ---

function syncScroll(strip, toggle) {
  let leader = null;
  strip.addEventListener('scroll', event => {
    const box = event.target;
    if (!toggle.checked || box === strip || (leader && leader !== box)) return;
    leader = box;
    const share = box.scrollTop / Math.max(1, box.scrollHeight - box.clientHeight);
    for (const other of all('.card-body', strip)) {
      if (other !== box) other.scrollTop = share * (other.scrollHeight - other.clientHeight);
    }
    requestAnimationFrame(() => requestAnimationFrame(() => { leader = null; }));
  }, true);
}

// --- Copying ---

async function copy(button) {
  const label = button.textContent;
  let done = 'Copied';
  try {
    await navigator.clipboard.writeText(await text(button.dataset.copyUrl));
  } catch {
    done = 'Not copied';
  }
  announce(`${done}.`);
  button.textContent = done;
  setTimeout(() => { button.textContent = label; }, 1500);
}

async function text(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(answer.statusText);
  return answer.text();
}

// --- Forms of a live run are sent in place; the stream shows what comes of them ---

async function send(form) {
  find('.notice', form)?.remove();
  const body = new URLSearchParams(new FormData(form));
  let answer;
  try {
    answer = await fetch(form.action, { method: 'POST', body, headers: { accept: 'text/html' }, signal: AbortSignal.timeout(ACTION_MS_MAX) });
  } catch ({ name }) {
    const why = name === 'TimeoutError' ? 'The server does not answer, so it is not known whether this was done.'
      : 'The server cannot be reached, so nothing was done.';
    form.append(notice(`${why} Try again when it is back.`));
    return;
  }
  if (new URL(answer.url).pathname === '/sign-in') {
    form.append(notice('You are signed out, so nothing was done. ', signIn(), '.'));
    return;
  }
  if (!answer.ok) {
    const page = new DOMParser().parseFromString(policy.createHTML(await answer.text()), 'text/html');
    const why = page.querySelector('.notice');
    form.append(why ? document.adoptNode(why) : notice(`The server refused this, with the status ${answer.status}.`));
    return;
  }
  if (!find('.run[data-live]') || new URL(answer.url).pathname !== location.pathname) location.assign(answer.url);
}

document.addEventListener('submit', event => {
  const form = event.target;
  if (form.method !== 'post' || !form.closest('.run[data-live]')) return;
  event.preventDefault();
  for (const button of all('button', form)) button.disabled = true;
  send(form).finally(() => { for (const button of all('button', form)) button.disabled = false; });
});

document.addEventListener('click', event => {
  const button = event.target.closest?.('[data-copy-url]');
  if (button) copy(button);
});

// --- The form that asks ---

class Ask {
  #form; #timer = 0; #latest = 0;

  constructor(form) {
    this.#form = form;
    form.addEventListener('keydown', event => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit(find('button.primary', form));
    });
    form.addEventListener('input', () => { clearTimeout(this.#timer); this.#timer = setTimeout(() => this.#quote(), 700); });
    find('#add-row', form).addEventListener('click', () => this.#addRow());
    form.addEventListener('change', event => { if (event.target.type === 'file') this.#count(); });
    // What is hidden in a folder is not even sent.
    form.addEventListener('formdata', event => {
      event.formData.delete('folder');
      for (const file of this.#found()) event.formData.append('folder', file, file.webkitRelativePath);
    });
  }

  // The files of the folder that are not hidden, and those that say what else to leave out.
  #found() {
    const shown = file => `/${file.webkitRelativePath}`.replace(/\/\.gitignore$/, '');
    return [...find('#folder', this.#form).files].filter(file => !shown(file).includes('/.'));
  }

  // How much is attached, and whether it is too much, before anything is sent.
  #count() {
    const input = find('#file', this.#form);
    const files = [...input.files, ...this.#found().filter(file => file.name !== '.gitignore')];
    const bytes = files.reduce((sum, file) => sum + file.size, 0);
    const most = Number(input.dataset.bytesMax);
    const excess = bytes > most ? ` This is more than ${most.toLocaleString('en')} bytes and would be refused.` : '';
    const counted = files.length === 1 ? '1 file' : `${files.length} files`;
    find('#attached', this.#form).textContent =
      files.length ? `${counted}, ${bytes.toLocaleString('en')} bytes.${excess} “Show the price” counts them.` : '';
  }

  // The price follows what is typed; attachments count when the button is pressed.
  async #quote() {
    if (!find('#question', this.#form).value.trim()) return;
    const body = new FormData(this.#form);
    body.delete('file');
    body.delete('folder');
    const number = ++this.#latest;
    const fresh = await this.#priced(body);
    if (number !== this.#latest) return;
    const quote = find('#quote', this.#form);
    quote.hidden = false;
    quote.replaceChildren(...document.adoptNode(fresh).childNodes);
  }

  // The price of a form, or why there is none. Nothing that was typed is lost with the session or the server.
  async #priced(body) {
    const told = document.createElement('div');
    try {
      const answer = await fetch('/ask/quote', { method: 'POST', body, headers: { accept: 'text/html' } });
      const page = new DOMParser().parseFromString(policy.createHTML(await answer.text()), 'text/html');
      const fresh = page.querySelector('#ask-error') ?? page.querySelector('#quote');
      if (fresh) return fresh;
      told.append(answer.status === 401 ? 'You are signed out. “Ask” leads to the sign-in page and keeps the question.'
        : `There is no price at the moment: the server answers with the status ${answer.status}.`);
    } catch {
      told.append('The server cannot be reached, so there is no price at the moment.');
    }
    return told;
  }

  #addRow() {
    const rows = all('.row', this.#form);
    const row = rows.at(-1).cloneNode(true);
    const [model, persona] = [find('input', row), find('select', row)];
    model.value = '';
    persona.value = '';
    model.setAttribute('aria-label', `Model ${rows.length + 1}`);
    persona.setAttribute('aria-label', `Persona of model ${rows.length + 1}`);
    rows.at(-1).after(row);
    model.focus();
  }
}

// A link to sign in with is used when it is opened; without a script a button does it.
find('#use-link')?.requestSubmit();

reveal(document);
if (find('#ask')) new Ask(find('#ask'));
const run = find('.run[data-live]');
if (run) {
  watchEnds(find('.strip'));
  new Live(run);
}
const toggle = find('#sync-scroll');
if (toggle) syncScroll(find('.strip'), toggle);
