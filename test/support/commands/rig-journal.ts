import type { Command, Evidence } from '../../../src/domain/command.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import type { NewCancelAll } from '../../../src/store/commands/cancel-all-journal.ts';
import type { AuditTrailEntry, CommandJournal } from '../../../src/store/commands/command-journal.ts';
import { decodeCommand, evidenceColumns, type StoredCommand } from '../../../src/store/commands/decode-command.ts';
import { type StoredHalt, toHalt } from '../../../src/store/commands/halts.ts';
import type { Halt } from '../../../src/store/commands/halts-journal.ts';
import { createPostgresJournal } from '../../../src/store/commands/postgres-journal.ts';
import { fromRow, type RowOf } from '../../../src/store/rows.ts';
import { InnerPostgres } from '../servers/inner-postgres.ts';
import { takingJournal } from './journal-rig.ts';
import { RigOrders } from './rig-orders.ts';

type JournalOperation = keyof CommandJournal;

/**
 * Between a caller and the journal: `transact` does the whole call. A hook may wait before or after
 * it, reject before it (nothing happened), reject after it (it happened, and the answer was lost),
 * or let it happen long after it has rejected.
 */
type RigHook = <T>(operation: JournalOperation, transact: () => Promise<T>) => Promise<T>;

/** One of a worker, for the newest rig: to start it takes seconds, to empty it 2 ms. */
const database = await InnerPostgres.start();
let newest: symbol | undefined;

/**
 * The journal of production on a Postgres of this process, with a hook at each call, and all that
 * it has written shown at once: what a test looks at is there in the same instant.
 */
export interface RigJournal extends CommandJournal {
  hook: RigHook;
  /** The database's clock. */
  nowMs: () => number;
  readonly orders: RigOrders;
  /** Oldest first. */
  readonly commands: ReadonlyMap<string, Command>;
  /** The steps, in their order. */
  readonly events: readonly { readonly commandId: string; readonly version: number; readonly state: string }[];
  /** All that were ever raised, in that order. */
  readonly halts: readonly Halt[];
  readonly audits: readonly AuditTrailEntry[];
  /** How many are armed. */
  readonly armedTimers: number;
  readonly cancelAlls: readonly NewCancelAll[];
  command(commandId: string): Command | undefined;
  evidence(commandId: string): Evidence[];
  ofAttempt(attemptId: string): Command | undefined;
  epoch(shard: number): bigint | undefined;
  /** Past all guards, as a database that lost commits or was damaged. */
  force(text: string, values?: readonly unknown[]): void;
}

/** An empty one. The rows of the one before are gone, and its calls are refused. */
export function rigJournal(clock: Clock): RigJournal {
  const owner = Symbol('rig');
  newest = owner;
  database.empty();
  const own = createPostgresJournal({ pool: database.pool, clock, random: seededRandom(1) });
  const journal = takingJournal(database.pool, own);
  const rows: InnerPostgres['rows'] = (text, values) => {
    if (newest !== owner)
      throw new Error('another rig has the database now: one test, one rig with all that stand beside it');
    return database.rows(text, values);
  };
  const commandsBy = (condition: string, ...values: unknown[]) =>
    rows<{ command: StoredCommand }>(
      `select command_json(c.command_id) as command from commands c where ${condition}
       order by (select seq from journal e where e.command_id = c.command_id and e.number = 1)`,
      values,
    ).map(({ command }) => decodeCommand(command));

  const rig: Omit<RigJournal, keyof CommandJournal> = {
    hook: (_operation, transact) => transact(),
    nowMs: () => clock.nowMs(),
    orders: new RigOrders(rows),
    get commands() {
      return new Map(commandsBy('true').map((command) => [command.commandId, command]));
    },
    get events() {
      return rows<{ commandId: string; version: number; state: string }>(
        'select command_id as "commandId", version, state from command_events order by id',
      );
    },
    get halts() {
      const all = rows<{ halt: StoredHalt }>(
        `select halt_json(h) as halt from halts h order by (select min(id) from halt_events e where e.snapshot ->> 'haltId' = h.halt_id)`,
      );
      return all.map(({ halt }) => toHalt(halt));
    },
    get audits() {
      const lines = rows<{ line: AuditTrailEntry; detail: object | null }>(
        `select json_strip_nulls(json_build_object('atMs', time_to_ms(at), 'principal', principal, 'action', action, 'accountId', account_id,
           'commandId', command_id, 'requestId', request_id, 'reason', reason)) as line, detail from audit_log order by id`,
      );
      return lines.map(({ line, detail }) => ({ ...line, ...(detail !== null && { detail }) }) as AuditTrailEntry);
    },
    get armedTimers() {
      return rows('select from cancel_timers where ended_at is null').length;
    },
    get cancelAlls() {
      return rows<{ asked: NewCancelAll }>(
        'select cancel_all_json(c) as asked from cancel_alls c order by created_at, cancel_all_id',
      ).map(({ asked }) => asked);
    },
    command: (commandId) => commandsBy('command_id = $1', commandId)[0],
    evidence: (commandId) =>
      rows<RowOf<Evidence>>(`select ${evidenceColumns} from evidence where command_id = $1 order by number`, [
        commandId,
      ]).map(fromRow<Evidence>),
    ofAttempt: (attemptId) =>
      commandsBy('command_id = (select command_id from attempts where attempt_id = $1)', attemptId)[0],
    epoch(shard) {
      const [row] = rows<{ epoch: string }>('select epoch from shards where shard = $1', [shard]);
      return row && BigInt(row.epoch);
    },
    force: (text, values) => database.force(text, values),
  };
  database.nowMs = () => rig.nowMs();
  const hooked = Object.entries(journal).map(([name, call]) => [
    name,
    (...args: unknown[]) =>
      rig.hook(name as JournalOperation, async () => {
        if (newest !== owner) throw new Error('another rig has the database now');
        return (call as (...args: unknown[]) => Promise<unknown>)(...args);
      }),
  ]);
  return Object.assign(rig, Object.fromEntries(hooked) as CommandJournal, { hurry: journal.hurry });
}
