import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { readSecrets } from '../../../src/cli/link/link-alpaca.ts';

/** A person at a terminal, or a pipe. */
function reading(terminal: boolean) {
  const raw: boolean[] = [];
  const tty = { isTTY: terminal, setRawMode: (isRaw: boolean) => raw.push(isRaw) };
  const input = Object.assign(new PassThrough(), tty);
  let said = '';
  const stderr = {
    write: (text: string) => {
      said += text;
      return true;
    },
  };
  const stop = new AbortController();
  const read = readSecrets({ pipe: { input, output: new PassThrough() }, stderr }, ['Id: ', 'Secret: '], stop.signal);
  return { input, stop, read, raw, said: () => said };
}

it('a terminal shows the prompts alone, takes corrections, and echoes as before afterwards', async () => {
  const { input, read, raw, said } = reading(true);
  for (const typed of ['PK', 'X\x7f1', '\r', '\n', 'hu', 's', 'h\r', 'more']) input.write(typed);
  expect(await read).toEqual(['PK1', 'hush']);
  expect([said(), raw, input.destroyed]).toEqual(['Id: \nSecret: \n', [true, false], true]);
});

it('a pipe is read without prompts, up to its end, whatever ends its lines', async () => {
  const { input, read, raw, said } = reading(false);
  input.end('PK1\r\n\r\nhush');
  expect(await read).toEqual(['PK1', 'hush']);
  expect([said(), raw]).toEqual(['', []]);
});

it.each([
  ['Ctrl-C', (input: PassThrough) => input.write('PK1\rhu\x03')],
  ['Ctrl-D', (input: PassThrough) => input.write('PK1\r\x04')],
  ['the end of it', (input: PassThrough) => input.end('PK1\n')],
])('%s ends it, and what was not finished is not used', async (_how, end) => {
  const { input, read } = reading(true);
  end(input);
  expect(await read).toEqual(['PK1']);
});

it('ends when it is given up, and at a line that never ends', async () => {
  const waiting = reading(true);
  waiting.stop.abort();
  expect([await waiting.read, waiting.raw]).toEqual([[], [true, false]]);
  const endless = reading(false);
  endless.input.write('x'.repeat(2_000));
  await expect(endless.read).rejects.toThrow('a line of more than 1000 characters is no key');
});
