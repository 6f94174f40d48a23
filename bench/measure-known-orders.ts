import type { Cleanup } from './cleanup.ts';
import { loadAt, settle } from './measure-service.ts';
import type { RealRows } from './real-rows.ts';
import { startSandboxProcess } from './sandbox-process.ts';
import { startServiceProcess } from './service-process.ts';
import { onServer, type Stack } from './stack.ts';

export interface KnownOrdersFigures {
  readonly few: number;
  readonly many: number;
  /** Updates a second as fast as the service takes them, each count measured twice, in turn. */
  readonly fewPerSecond: readonly number[];
  readonly manyPerSecond: readonly number[];
  /** Of the means. Below 0: many are slower. */
  readonly changePercent: number;
}

const few = 1000;
const rounds = 2;

/**
 * The rate with few orders in the database, and with many. Each time a new database, a new service,
 * and the same 1,000 orders that the market moves.
 */
export async function measureKnownOrders(
  cleanup: Cleanup,
  stack: Stack,
  real: RealRows,
  { many, seconds }: { readonly many: number; readonly seconds: number },
): Promise<KnownOrdersFigures> {
  const rates = { few: [] as number[], many: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    rates.few.push(await rateWith(cleanup, stack, real, few, seconds));
    rates.many.push(await rateWith(cleanup, stack, real, many, seconds));
  }
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const changePercent = Math.round((sum(rates.many) / sum(rates.few) - 1) * 1000) / 10;
  return { few, many, fewPerSecond: rates.few, manyPerSecond: rates.many, changePercent };
}

async function rateWith(
  cleanup: Cleanup,
  stack: Stack,
  real: RealRows,
  known: number,
  seconds: number,
): Promise<number> {
  const sandbox = await startSandboxProcess(cleanup, { openOrders: 1000, knownOrders: 1000 });
  const service = await startServiceProcess(cleanup, stack, sandbox, {
    part: 'known',
    prepare: (databaseUrl) => seed(databaseUrl, real, known),
  });
  const watched = { stack, sandbox, service };
  const { publishedPerSecond } = await loadAt(watched, 'max', seconds);
  await settle(watched);
  await service.stop();
  await sandbox.stop();
  return publishedPerSecond;
}

/**
 * Closed orders of the past, with real states: the rows and the index that
 * every upsert has to find its way through.
 */
async function seed(databaseUrl: string, real: RealRows, count: number): Promise<void> {
  const states = real.rows.slice(0, 100).map(({ head }) => [head.state, head.join]);
  const literal = `'${JSON.stringify(states).replaceAll("'", "''")}'::jsonb`;
  await onServer(
    databaseUrl,
    `insert into orders (stream, order_id, lane, account_id, symbol, status, revision, state, join_state)
     select 'account', gen_random_uuid()::text, 0, 'SIM-1001', 'AAPL', 'filled', 5, (s.pair ->> 0)::json, (s.pair ->> 1)::json
     from generate_series(1, ${count}) i
     join (select row_number() over () as n, value as pair from jsonb_array_elements(${literal})) s on s.n = 1 + i % ${states.length}`,
  );
  await onServer(databaseUrl, 'vacuum analyze orders');
  await onServer(databaseUrl, 'checkpoint');
}
