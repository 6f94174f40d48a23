// What a user saw: A text from outside could clear the terminal of the person who read an answer or a log.

import { PassThrough } from 'node:stream';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { escapeControls, escapeTwice } from '../../../src/observability/escape-controls.ts';
import { createLogger } from '../../../src/observability/logger.ts';
import { cliIo } from '../../support/rest/cli-io.ts';

const late = Array.from({ length: 33 }, (_, at) => String.fromCharCode(0x7f + at)).join('');
const early = Array.from({ length: 32 }, (_, at) => String.fromCharCode(at)).join('');
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are searched for
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

/**
 * JSON leaves U+0080 to U+009F as they are, and a terminal may obey them: `\u009b2J` clears the
 * screen like `ESC [ 2 J`.
 */
describe('a text with control characters', () => {
  it('is printed by every command without one, and JSON keeps its value', async () => {
    const value = { text: `before ${late} ${early} after`, other: 'é …' };
    for (const output of ['stdout', 'stderr'] as const) {
      const io = cliIo();
      const entry = {
        name: 'print',
        summary: 's',
        load: async () => (given: typeof io) =>
          new Command('print').action(() => {
            given[output].write(`${JSON.stringify(value)}\n`);
          }),
      };
      await runProgram(io, ['print'], [entry as never]);
      const text = output === 'stdout' ? io.out() : io.err();
      expect(text).not.toMatch(obeyed);
      expect(JSON.parse(text)).toEqual(value);
    }
  });

  it.each([false, true])('is logged without one, pretty %s', (pretty) => {
    let text = '';
    const destination = {
      write(line: string) {
        text += line;
      },
    };
    const log = createLogger({ destination }, { level: 'info', version: '0', pretty, secrets: [] });
    log.info({ found: late + early, err: new Error(`bad ${late}${early}`) }, `message ${late}${early}`);
    expect(text).not.toMatch(obeyed);
    expect(text).toContain('009b');
    if (!pretty) expect(JSON.parse(text)).toMatchObject({ found: late + early, msg: `message ${late}${early}` });
  });

  it('has each escaped once, and other texts stay as they are', () => {
    expect(escapeControls('a\u009bb\u007f')).toBe('a\\u009bb\\u007f');
    expect(escapeControls('plain é … \n')).toBe('plain é … \n');
    expect(escapeTwice(JSON.stringify('a\\u001b \u001b[2J \u009b \n \t'))).toBe(
      '"a\\\\u001b \\\\u001b[2J \\\\u009b \\n \\t"',
    );
  });
});

it('an assistant gets no such byte either', async () => {
  const { withSafeWrites } = await import('../../../src/cli/mcp/serve-mcp.ts');
  const output = new PassThrough();
  withSafeWrites(output).write(`${JSON.stringify({ text: late })}\n`);
  const text = String(output.read());
  expect(text).not.toMatch(obeyed);
  expect(JSON.parse(text)).toEqual({ text: late });
});
