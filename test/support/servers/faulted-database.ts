import pg from 'pg';
import { systemClock } from '../../../src/runtime/clock.ts';
import type { Random } from '../../../src/runtime/random.ts';
import { connectionOptions } from '../../../src/store/session/pool.ts';
import { PrimarySession } from '../../../src/store/session/primary-session.ts';
import type { JournalRig } from '../commands/journal-rig.ts';
import { proxiedUrl } from '../orders/store-rig.ts';
import { eventually } from '../runs/poll.ts';
import { TcpProxy } from './tcp-proxy.ts';

/**
 * What becomes of a statement on its way: it is `lost` before it arrives (cut off, or
 * half open), arrives `late` (after its caller gave up), or is done, and its answer is
 * lost (cut off, half open), torn or slow.
 */
const onTheWay = [
  'lost',
  'half_open',
  'late',
  'answer_lost',
  'answer_half_open',
  'answer_torn',
  'answer_slow',
] as const;

/**
 * What becomes of a statement at work, where it first needs a lock of this table: an error of its
 * own, the end of its session, or of its caller.
 */
const atWork = ['lock_timeout', 'slow', 'canceled', 'terminated', 'caller_gone'] as const;

/**
 * The tables that the functions of the command side write or lock, one after the other: a stop at
 * each is another middle of the statement.
 */
const tables = [
  ...['journal', 'open_commands', 'facts', 'result_positions', 'halts', 'halt_events', 'limits', 'approvals'],
  ...['audit_log', 'cancel_alls', 'orders'],
] as const;

type Fault =
  | { readonly way: (typeof onTheWay)[number]; readonly at: string; readonly bytes: number }
  | { readonly work: (typeof atWork)[number]; readonly table: (typeof tables)[number] };

/**
 * Names that are in the statements of the command side, and '' for the next one, whatever it is:
 * the greeting of a new session as well.
 */
const statements = [
  ...['append_journal', 'take_over_commands', 'raise_halt', 'clear_halts', 'change_limits'],
  ...[
    'request_approval',
    'public.approvals',
    'add_audit_lines',
    'open_cancel_all',
    'read_command',
    'public.halts',
    'public.limits',
    '',
  ],
];

export function pick<T>(random: Random, from: readonly T[]): T {
  return from[Math.floor(random.next() * from.length)] as T;
}

export function drawFault(random: Random): Fault {
  if (random.next() < 0.5) return { work: pick(random, atWork), table: pick(random, tables) };
  return { way: pick(random, onTheWay), at: pick(random, statements), bytes: 1 + Math.floor(random.next() * 200) };
}

/**
 * Shorter than those of the service, in the same order: the
 * server's deadline comes before the client's.
 */
const deadlines = { connectionTimeoutMillis: 800, query_timeout: 800, statement_timeout: 600, lock_timeout: 250 };
const lateMs = 1_000;
const slowMs = 400;

const applicationName = 'faulted';

/** The command side's way to the database of this rig, and the faults on it. */
export async function faultedDatabase(rig: JournalRig) {
  const stack = new AsyncDisposableStack();
  const proxy = stack.use(await TcpProxy.start({ targetPort: Number(new URL(rig.database.url).port || 5432) }));
  const pool = new pg.Pool({
    ...connectionOptions(proxiedUrl(rig.database.url, proxy), applicationName),
    ...deadlines,
    Client: PrimarySession,
    max: 4,
  });
  pool.on('error', () => undefined);
  stack.defer(() => pool.end());
  const rival = await rig.rival();
  let struck = 0;

  function strike({ way, bytes }: Extract<Fault, { way: string }>): void {
    struck += 1;
    if (way === 'lost') proxy.behave({ kind: 'after', bytes: 0, ending: 'reset' }, 'toTarget');
    if (way === 'half_open') proxy.behave({ kind: 'swallow' }, 'toTarget');
    if (way === 'late') proxy.behave({ kind: 'delay', ms: lateMs }, 'toTarget');
    if (way === 'answer_lost') proxy.behave({ kind: 'after', bytes: 0, ending: 'reset' }, 'toClient');
    if (way === 'answer_half_open') proxy.behave({ kind: 'swallow' }, 'toClient');
    if (way === 'answer_torn')
      proxy.behave({ kind: 'after', bytes, ending: bytes % 2 === 0 ? 'reset' : 'swallow' }, 'toClient');
    if (way === 'answer_slow') proxy.behave({ kind: 'delay', ms: slowMs }, 'toClient');
  }

  /** The backends that wait for the rival's lock. */
  async function stopped(): Promise<number[]> {
    const { rows } = await rig.pool.query<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and application_name = $1 and wait_event_type = 'Lock'`,
      [applicationName],
    );
    return rows.map(({ pid }) => pid);
  }

  async function stopAtWork({ work, table }: Extract<Fault, { work: string }>, over: () => boolean): Promise<void> {
    await rival.query(`begin; lock table ${table} in access exclusive mode`);
    try {
      const pids = await eventually(
        async () => {
          const found = await stopped();
          if (found.length === 0 && !over()) throw new Error('nothing waits for the lock');
          return found;
        },
        { deadlineMs: 1_500 },
      ).catch(() => []);
      if (pids.length > 0) struck += 1;
      if (work === 'canceled') await rig.pool.query('select pg_cancel_backend(p) from unnest($1::int[]) as p', [pids]);
      if (work === 'terminated')
        await rig.pool.query('select pg_terminate_backend(p) from unnest($1::int[]) as p', [pids]);
      if (work === 'caller_gone') proxy.cut('reset');
      if (work === 'lock_timeout') await systemClock.sleep(deadlines.lock_timeout * 2);
      if (work === 'slow') await systemClock.sleep(deadlines.lock_timeout / 2);
    } finally {
      await rival.query('rollback');
    }
  }

  return {
    pool,
    /** How many faults have met a statement. */
    get struck() {
      return struck;
    },
    /** Does this while the fault is there; resolves when both are over. */
    async during<T>(fault: Fault, work: () => Promise<T>): Promise<T> {
      let over = false;
      if ('work' in fault) {
        const stopping = stopAtWork(fault, () => over);
        const result = await work();
        over = true;
        await stopping;
        return result;
      }
      const healed = Promise.withResolvers<void>();
      let met = false;
      proxy.tap = (chunk) => {
        if (met || !chunk.includes(fault.at)) return;
        met = true;
        strike(fault);
        systemClock.after(lateMs + slowMs, () => healed.resolve());
      };
      const ended = work().finally(() => {
        if (!met) healed.resolve();
      });
      await healed.promise;
      met = true;
      proxy.behave({ kind: 'pass' });
      return ended;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

export type FaultedDatabase = Awaited<ReturnType<typeof faultedDatabase>>;
