import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Colours } from '../../../src/cli/io/colours.ts';
import { runProgram } from '../../../src/cli/program.ts';
import { sampleUpdate } from '../../support/orders/sample-update.ts';
import { cliIo } from '../../support/rest/cli-io.ts';
import { restServer } from '../../support/rest/rest-answers.ts';
import { json } from '../../support/servers/http-server.ts';

const terminal = { TERM: 'xterm-256color' };

describe('colours', () => {
  it.each([
    [{}, false, false],
    [terminal, true, false],
    [{ ...terminal, NO_COLOR: '1' }, false, false],
    [{ TERM: 'dumb' }, false, false],
    [{ FORCE_COLOR: '1' }, true, true],
    [{ ...terminal, FORCE_COLOR: '0' }, false, false],
  ])('with %j are on in a terminal: %s, and in a pipe: %s', (env, inTerminal, inPipe) => {
    const colours = new Colours({ env, stdout: true, stderr: false });
    expect([colours.areOn('stdout'), colours.areOn('stderr')]).toEqual([inTerminal, inPipe]);
  });

  it('are as --color says, above the environment', () => {
    const colours = new Colours({ env: { ...terminal, NO_COLOR: '1' }, stdout: true, stderr: false });
    colours.choose('always');
    expect([colours.areOn('stdout'), colours.areOn('stderr')]).toEqual([true, true]);
    colours.choose('never');
    expect([colours.areOn('stdout'), colours.areOn('stderr')]).toEqual([false, false]);
  });

  it('mark words that have a tone, with their padding, and no others', () => {
    const colours = new Colours({ env: { FORCE_COLOR: '1' }, stdout: true, stderr: true });
    expect(['filled  ', 'rejected', 'new', 'buy ', 'filled 40'].map((text) => colours.word(text))).toEqual([
      '\u001b[32mfilled  \u001b[39m',
      '\u001b[31mrejected\u001b[39m',
      'new',
      '\u001b[36mbuy \u001b[39m',
      'filled 40',
    ]);
  });
});

describe('--color', () => {
  const { stream, orderId, accountId, revision, order } = JSON.parse(sampleUpdate({ status: 'filled' }));
  const items = [{ stream, orderId, accountId, revision, order: { ...order, stream, orderId } }];

  async function run(...argv: string[]) {
    const server = await restServer((_request, response) => json(response, 200, { items }));
    const io = cliIo({ TIDEMARK_URL: server.url });
    await runProgram(io, argv);
    return { code: io.code(), out: io.out(), err: io.err() };
  }

  it('colours a table wherever it stands, and changes nothing else', async () => {
    const { out: plain } = await run('orders', 'ls');
    expect(plain).not.toContain('\u001b');
    for (const argv of [
      ['--color=always', 'orders', 'ls'],
      ['orders', 'ls', '--color', 'always'],
    ]) {
      const { out } = await run(...argv);
      expect(out).toContain('\u001b[32mfilled\u001b[39m');
      expect(stripVTControlCharacters(out)).toBe(plain);
    }
  });

  it('never colours JSON', async () => {
    const { out } = await run('--color=always', 'orders', 'ls', '--json');
    expect(JSON.parse(out)).toEqual(items);
  });

  it('marks an error', async () => {
    const red = '\u001b[31mtidemark:\u001b[39m';
    expect((await run('--color=always', 'statsu')).err).toMatch(`${red} unknown command 'statsu'`);
    expect((await run('--color=always', 'status', '--url', 'http://127.0.0.1:1')).err).toContain(
      `${red} no service answers`,
    );
  });

  it('takes three words', async () => {
    const { code, err } = await run('--color=red', 'status');
    expect([code, err]).toEqual([64, expect.stringContaining('Allowed choices are auto, always, never.')]);
  });
});
