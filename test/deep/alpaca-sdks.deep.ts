import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { pythonSdk } from '../../src/demo/lost-answer/official-sdk.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { runningAlpaca } from '../support/platform/alpaca.ts';
import { control, controlLines } from '../support/platform/sandbox.ts';
import { cacheDir } from '../support/servers/cache-dir.ts';
import { nodeSdk } from './parts/consumer-languages.ts';

/** Runs one of Alpaca's own SDKs, as it is, against an emulator of this run. */
async function official(language: 'python' | 'node', way: string, ...rules: object[]) {
  const { description: at } = await runningAlpaca({ venue: { answerMs: 20 } });
  const [account] = at.accounts;
  if (rules.length > 0) await control(at, '/faults', { rules });
  const env = {
    ...process.env,
    ALPACA_URL: at.url,
    ALPACA_STREAM: at.stream,
    ALPACA_CONTROL: at.control,
    ALPACA_KEY: account?.keyId,
    ALPACA_SECRET: account?.secretKey,
  };
  const run = promisify(execFile);
  const { stdout } =
    language === 'python'
      ? await run('python3', ['test/deep/parts/alpaca/official.py'], {
          env: { ...env, PYTHONPATH: await pythonSdk({ clock: systemClock }, { cacheDir, name: 'alpaca-py==0.44.0' }) },
          timeout: 120_000,
        })
      : await run(process.execPath, ['test/deep/parts/alpaca/official.cjs', way], {
          env: { ...env, ALPACA_SDK: await nodeSdk('@alpacahq/alpaca-trade-api@4.0.2') },
          timeout: 120_000,
        });
  const decisions = await controlLines(at, '/ledger?kind=decision');
  return {
    seen: JSON.parse(stdout),
    decisions: decisions.filter(({ write }) => write === 'place').map(({ decision }) => decision),
  };
}

const lost = { on: 'write', write: 'place', fault: 'status_504', applied: 'yes' };
const repeated = 'client_order_id must be unique';
const closed = 'order is already in "canceled" state and is not cancelable';

describe('alpaca-py 0.44.0 against the emulator', () => {
  it('places, finds, replaces, lists, cancels and streams, and reads each refusal', async () => {
    const { seen } = await official('python', 'whole');
    expect(seen).toEqual({
      account: ['SIM-1001', 'ACTIVE'],
      clock: expect.any(Boolean),
      asset: ['AAPL', true],
      placed: ['py-place', 'pending_new', '10', '187.5'],
      found: true,
      replaced: [true, 'py-replace', '12', true],
      open: ['py-replace'],
      all: ['py-replace', 'py-place'],
      fraction: ['1.5', '1.5'],
      money: [null, '100', true],
      bracket: ['bracket', ['held', 'held'], 2],
      canceled: 1,
      events: {
        placed: ['pending_new', 'new', 'pending_replace', 'replaced'].map((event) => [event, '0', null]),
        successor: ['pending_new', 'new', 'pending_cancel', 'canceled'].map((event) => [event, '0', null]),
        fraction: [
          ['pending_new', '0', null],
          ['new', '0', null],
          ['fill', '1.5', 1.5],
        ],
      },
      refusals: {
        repeated: [422, 40010001, repeated],
        'canceled twice': [422, 42210000, closed],
        'replaced twice': [422, 42210000, 'order in replaced status cannot be changed'],
        trailing: [422, 40010001, expect.stringContaining('trail_percent')],
        nothing: [404, 40410000, 'order not found for py-none'],
        'wrong key': [401, 40110000, 'request is not authorized'],
      },
    });
  });
});

describe('@alpacahq/alpaca-trade-api 4.0.2 against the emulator', () => {
  it('places, finds, replaces, lists, cancels and streams, and reads refusals and activities', async () => {
    const { seen } = await official('node', 'whole');
    expect(seen).toEqual({
      account: ['SIM-1001', 'ACTIVE'],
      placed: ['js-place', 'pending_new', '10', '187.5'],
      found: true,
      replaced: [true, 'js-replace', '12', true],
      open: ['js-replace'],
      events: {
        placed: ['pending_new', 'new', 'pending_replace', 'replaced'],
        successor: ['pending_new', 'new', 'pending_cancel', 'canceled'],
      },
      activities: [['TRD', 'fill', '2', 'filled']],
      refusals: {
        repeated: ['ValidationError', 422, 40010001, repeated],
        'canceled twice': ['ValidationError', 422, 42210000, closed],
        'wrong key': ['AuthError', 401, 40110000, 'request is not authorized'],
      },
    });
  });

  it('sends a place once, and finds the order of a lost answer by its client id', async () => {
    const { seen, decisions } = await official('node', 'lost', { ...lost, times: 1 });
    expect(seen).toEqual([504, 'new']);
    expect(decisions).toEqual(['accepted']);
  });
});
