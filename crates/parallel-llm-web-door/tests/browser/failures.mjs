// A reporter for Node's tests: a line for each test that failed, with its name and the reason.

import { stripVTControlCharacters } from 'node:util';

export default async function* failures(events) {
  for await (const { type, data } of events) {
    if (type !== 'test:fail') continue;
    // What was thrown is the innermost cause.
    let reason = data.details.error;
    while (reason.cause) reason = reason.cause;
    const words = stripVTControlCharacters(reason.message ?? String(reason)).replaceAll(/\s+/g, ' ');
    yield `“${data.name}”: ${words.slice(0, 240).trim()}\n`;
  }
}
