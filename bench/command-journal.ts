import type { Pool } from 'pg';
import { pino } from 'pino';
import { startPostgres } from '../src/demo/devstack/start-postgres.ts';
import type { Bounds } from '../src/domain/limits.ts';
import { measurePlace } from '../src/domain/measure-command.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { systemRandom } from '../src/runtime/random.ts';
import type { CommandJournal, OpenResult } from '../src/store/commands/command-journal.ts';
import { createPostgresJournal } from '../src/store/commands/postgres-journal.ts';
import { migrate } from '../src/store/migrate.ts';
import { createPool } from '../src/store/session/pool.ts';
import { percentile } from './percentile.ts';

const log = pino({ level: 'warn' }, pino.destination(2));
const fence = { shard: 0, epoch: 1n };
const rounds = 3_000;

/**
 * What the journal adds to a command: its three commits (open, mark as sending, record the answer),
 * one after the other, beside a commit of one row on the same connection in the same run. Then what
 * limits add to the first of them: the same under a limit of quantity alone, and under every limit
 * beside 100 open orders. `node bench/command-journal.ts`
 */
async function measureCommandJournal(url: string): Promise<Record<string, { p50Ms: number; p99Ms: number }>> {
  await migrate({ url, log, clock: systemClock });
  const pool = createPool({ log }, { url, applicationName: 'bench', maxConnections: 1 });
  const journal = createPostgresJournal({ pool, clock: systemClock, random: systemRandom });
  await pool.query('create table if not exists bare (id bigint generated always as identity primary key, text text)');
  await journal.takeOver(fence, systemClock.nowMs(), 0);
  const spent: Record<string, number[]> = {
    bare: [],
    open: [],
    openUnderOne: [],
    openUnderAll: [],
    markSending: [],
    step: [],
  };
  await setLimits(pool, journal);
  const time = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    const startMs = performance.now();
    const result = await work();
    spent[what]?.push(performance.now() - startMs);
    return result;
  };
  for (let i = 0; i < rounds; i += 1) {
    await time('bare', () =>
      pool.query({ name: 'bare', text: 'insert into bare (text) values ($1)', values: ['x'.repeat(500)] }),
    );
    await oneCommand(journal, time);
    await oneLimited(journal, 'acct-2', (work) => time('openUnderOne', work));
    await oneLimited(journal, 'acct-3', (work) => time('openUnderAll', work));
  }
  await pool.end();
  return Object.fromEntries(
    Object.entries(spent).map(([what, ms]) => [what, { p50Ms: percentile(ms, 0.5), p99Ms: percentile(ms, 0.99) }]),
  );
}

async function oneCommand(
  journal: CommandJournal,
  time: <T>(what: string, work: () => Promise<T>) => Promise<T>,
): Promise<void> {
  const atMs = systemClock.nowMs();
  const [commandId, attemptId] = [systemRandom.uuid(), `tm-${systemRandom.uuid()}`];
  const terms = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '10', timeInForce: 'DAY', price: '187.5' };
  const request = { kind: 'place', stream: 'account', accountId: 'acct-1', terms } as const;
  const asked = {
    commandId,
    principal: 'bench',
    idempotencyKey: commandId,
    requestHash: 'h',
    request,
    deadlineAtMs: atMs + 10_000,
    atMs,
    attemptId,
  };
  const opened = await time('open', () => journal.open(asked, fence));
  const marked = await time('markSending', () => journal.markSending(attemptId, atMs, fence));
  const evidence = [
    { kind: 'answer', code: 'accepted', detail: { status: 200, clientId: attemptId }, attemptId, atMs },
  ] as const;
  const attempt = { attemptId, from: 'sending', to: 'accepted' } as const;
  const stepped = await time('step', () =>
    journal.step({ commandId, version: 1, to: 'accepted', atMs, attempt, evidence }, fence),
  );
  if (opened.kind !== 'opened' || !marked || stepped.kind !== 'stepped')
    throw new Error('the journal refused what it should take');
}

/** Far above what the run sends: each limit is evaluated and none refuses. */
async function setLimits(pool: Pool, journal: CommandJournal): Promise<void> {
  const [most, many] = ['1000000000', 1_000_000];
  const all: Bounds = {
    ...{ maxQuantity: most, maxNotional: most, collarPercent: '50', allowedSymbols: ['AAPL'], instruments: ['equity'] },
    ...{
      maxOpenOrders: many,
      maxSymbolExposure: most,
      maxAccountExposure: most,
      ordersPerMinute: many,
      duplicateWindowMs: 1,
    },
  };
  const word = { by: 'bench', reason: 'bench', requestId: 'bench', atMs: systemClock.nowMs() };
  await journal.changeLimits({ accountId: 'acct-2', before: {}, bounds: { maxQuantity: most }, ...word });
  await journal.changeLimits({ accountId: 'acct-3', before: {}, bounds: all, ...word });
  await pool.query(
    `insert into orders (stream, order_id, lane, account_id, symbol, status, revision, state, join_state)
     select 'account', 'o-' || n, 0, 'acct-3', 'AAPL', 'new', 1, json_build_object('side', 'buy', 'price', '187.5', 'leavesQty', '10', 'working',
       json_build_object('quantity', '10', 'price', '187.5'), 'instrument', json_build_object('kind', 'equity', 'symbol', 'AAPL')), '{}'
     from generate_series(1, 100) as n`,
  );
}

/** Opened and given up again, so that nothing of it counts for the next one. */
async function oneLimited(
  journal: CommandJournal,
  accountId: string,
  time: (work: () => Promise<OpenResult>) => Promise<OpenResult>,
): Promise<void> {
  const atMs = systemClock.nowMs();
  const [commandId, attemptId] = [systemRandom.uuid(), `tm-${systemRandom.uuid()}`];
  const terms = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '10', timeInForce: 'DAY', price: '187.5' };
  const request = { kind: 'place', stream: 'account', accountId, terms } as const;
  const measure = measurePlace(request, [{ price: '190', ageMs: 0 }]);
  const asked = {
    commandId,
    principal: 'bench',
    idempotencyKey: commandId,
    requestHash: 'h',
    request,
    measure,
    deadlineAtMs: atMs,
    atMs,
    attemptId,
  };
  const opened = await time(() => journal.open(asked, fence));
  if (opened.kind !== 'opened') throw new Error('the journal refused what it should take');
  const attempt = { attemptId, from: 'prepared', to: 'not_sent' } as const;
  await journal.step({ commandId, version: 1, to: 'not_sent', atMs, attempt, evidence: [] }, fence);
}

if (import.meta.main) {
  const postgres = await startPostgres({ clock: systemClock, log, cacheDir: '.cache' });
  try {
    console.log(JSON.stringify(await measureCommandJournal(postgres.url), null, 2));
  } finally {
    await postgres.stop();
  }
}
