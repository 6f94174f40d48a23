// What a user saw: A reason with a mark of direction read as another reason in the terminal and in the log.

import { describe, expect, it } from 'vitest';
import { factsText, printable, tableText } from '../../../src/cli/io/format-text.ts';
import { escapeControls, escapeTwice } from '../../../src/observability/escape-controls.ts';
import { createLogger } from '../../../src/observability/logger.ts';

/** Marks of direction and of no width, separators of lines, and a tag above U+FFFF. */
const marks = [0x202e, 0x2066, 0x200b, 0x200f, 0x061c, 0xfeff, 0x00ad, 0x2028, 0x2029, 0xe0041].map((code) =>
  String.fromCodePoint(code),
);
const unseen = /[\p{Cf}\u2028\u2029]/u;
const name = `approve ${marks.join('x')} end`;

describe('a text with characters that are not seen', () => {
  it('is shown by tables and facts with a sign for each', () => {
    for (const text of [tableText([{ name }], { NAME: 'name' }), factsText({ reason: name }), printable(name)])
      expect(text).not.toMatch(unseen);
    expect(printable(`a${marks[0]}b`)).toBe('a?b');
  });

  it('is printed as JSON with each escaped, and keeps its value', () => {
    const text = escapeControls(JSON.stringify({ name, [name]: 1 }));
    expect(text).not.toMatch(unseen);
    expect(JSON.parse(text)).toEqual({ name, [name]: 1 });
    expect(escapeControls('é … ✓ 日本 🙂 \n')).toBe('é … ✓ 日本 🙂 \n');
  });

  it.each([false, true])('is logged without one, pretty %s', (pretty) => {
    let text = '';
    const destination = {
      write(line: string) {
        text += line;
      },
    };
    const log = createLogger({ destination }, { level: 'info', version: '0', pretty, secrets: [] });
    log.info({ reason: name }, `message ${name}`);
    expect(text).not.toMatch(unseen);
    expect(text).toContain('u202e');
    if (!pretty) expect(JSON.parse(text)).toMatchObject({ reason: name, msg: `message ${name}` });
    expect(JSON.parse(escapeTwice(JSON.stringify(`a${marks[0]}`)))).toBe('a\\u202e');
  });
});
