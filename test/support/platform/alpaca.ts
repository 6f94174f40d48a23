import { runProgram } from '../../../src/cli/program.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import type { AlpacaDescription } from '../../../src/sandbox/alpaca/describe-alpaca.ts';
import { startAlpaca } from '../../../src/sandbox/alpaca/start-alpaca.ts';
import type { SandboxInput } from '../../../src/sandbox/sandbox-options.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import type { RunningSandbox } from '../../../src/sandbox/start-sandbox.ts';
import { atEnd } from '../commands/at-end.ts';
import { cliIo } from '../rest/cli-io.ts';
import { silentLog } from '../runs/silent-log.ts';
import { type Answer, ask } from './sandbox.ts';

/**
 * Alpaca on real sockets. Unless the test wants otherwise, its market stands still and fills whole
 * orders at once.
 */
export async function runningAlpaca(input: SandboxInput = {}): Promise<RunningSandbox<AlpacaDescription>> {
  const sandbox = await startAlpaca(
    {
      ...input,
      market: { rate: 0, openOrders: 20, knownOrders: 40, ...input.market },
      venue: { answerMs: 0, depth: 1_000_000, ...input.venue },
    },
    { clock: systemClock, random: seededRandom(1_000_003), log: silentLog },
  );
  atEnd(() => sandbox.stop());
  return sandbox;
}

/** Far below the market (AAPL trades at 221.50): it rests. */
export const restingOrder = {
  symbol: 'AAPL',
  qty: '10',
  side: 'buy',
  type: 'limit',
  time_in_force: 'day',
  limit_price: '187.50',
} as const;

/** A caller with the key pair of one of the accounts. */
export async function alpacaClient(input: SandboxInput = {}, account = 0) {
  const sandbox = await runningAlpaca(input);
  const at = sandbox.description;
  const { keyId = '', secretKey = '', accountNumber = '' } = at.accounts[account] ?? {};
  const headers = { 'APCA-API-KEY-ID': keyId, 'APCA-API-SECRET-KEY': secretKey };
  const send = (method: string, path: string, body?: unknown): Promise<Answer> =>
    ask(`${at.url}${path}`, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  return {
    sandbox,
    at,
    accountNumber,
    headers,
    send,
    place: (over: object = {}) => send('POST', '/v2/orders', { ...restingOrder, ...over }),
    get: (path: string) => send('GET', path),
    order: async (id: string) => (await send('GET', `/v2/orders/${id}`)).json,
    fault: (...rules: object[]) =>
      ask(`${at.control}/faults`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ rules }),
      }),
  };
}

/** `tidemark link --venue alpaca` with these settings: the pair goes to its stdin. */
export async function linkPair(
  env: Readonly<Record<string, string>>,
  { keyId, secretKey }: { readonly keyId: string; readonly secretKey: string },
  ...flags: readonly string[]
) {
  const io = cliIo(env);
  io.pipe.input.push(`${keyId}\n${secretKey}\n`);
  io.pipe.input.push(null);
  await runProgram(io, ['link', '--venue', 'alpaca', ...flags]);
  return { code: io.code(), out: io.out(), err: io.err() };
}
