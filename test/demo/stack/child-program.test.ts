import { describe, expect, it } from 'vitest';
import { jsonObject, startChild } from '../../../src/demo/stack/child-program.ts';
import { reportError } from '../../../src/runtime/program-error.ts';
import { cliIo } from '../../support/rest/cli-io.ts';

/** The words of the program that started the child, and its exit code. */
async function reported(script: string, startMs = 30_000): Promise<[string, number]> {
  const io = { ...cliIo(), entry: [process.execPath, '-e', script] };
  const options = { name: 'service', args: [], env: {}, pick: (line: string) => jsonObject(line)?.['ready'], startMs };
  const error = await startChild(io, options).catch((reason: unknown) => reason);
  const code = reportError(io, error);
  return [io.err(), code];
}

describe('issue: The demo ended because of a used port, with nothing behind "before it was ready:".', () => {
  it('says the last words of a child that ends before it is ready, without its log', async () => {
    const script = `console.log('{"msg":"starting"}'); console.error('port 1 is in use\\n  Set PORT.'); process.exit(69)`;
    expect(await reported(script)).toEqual([
      'tidemark: service ended with 69 before it was ready\n  It said at last:\n  port 1 is in use\n    Set PORT.\n',
      69,
    ]);
  });

  it('says the last error of a log, and its remedy', async () => {
    const log = [{ msg: 'starting' }, { err: { message: 'port 1 is in use', fix: 'Set PORT.' } }, { msg: 'ended' }];
    const script = `for (const line of ${JSON.stringify(log)}) console.log(JSON.stringify(line)); process.exit(69)`;
    expect(await reported(script)).toEqual([
      'tidemark: service ended with 69 before it was ready\n  It said at last:\n  port 1 is in use\n  Set PORT.\n',
      69,
    ]);
  });

  it('shows the log of a child that wrote nothing else', async () => {
    expect(await reported(`console.log('{"msg":"starting"}'); process.exit(1)`)).toEqual([
      'tidemark: service ended with 1 before it was ready\n  It said at last:\n  {"msg":"starting"}\n',
      69,
    ]);
  });

  it('says the last words of a child that is not ready in time', async () => {
    const [words] = await reported('setInterval(() => {}, 1000)', 50);
    expect(words).toBe('tidemark: service was not ready within 50 ms\n  It said at last:\n  nothing\n');
  });
});
