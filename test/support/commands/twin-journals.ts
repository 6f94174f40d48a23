import pg from 'pg';
import { type AttemptState, type Command, isFinal } from '../../../src/domain/command.ts';
import type { CommandJournal, NewCommand } from '../../../src/store/commands/command-journal.ts';
import { decodeCommand, type StoredCommand } from '../../../src/store/commands/decode-command.ts';
import type { Halt } from '../../../src/store/commands/stops-journal.ts';
import type { Fence } from '../../../src/store/commands/term.ts';
import { storableJson } from '../../../src/store/session/write-once.ts';
import { fence, newPlace } from './journal-fixtures.ts';
import { journalRig } from './journal-rig.ts';
import { MemoryJournal } from './memory-journal.ts';

/** What a call did: its result, or the code of its refusal. */
type Outcome = { readonly result: unknown } | { readonly code: unknown };

/** One statement for Postgres and the same call of the journal in memory. Its name says which. */
export interface TwinCall {
  readonly name: string;
  /** The call finds it as it was before every other call. */
  readonly of: Command;
  readonly sql: string;
  call(journal: CommandJournal): Promise<unknown>;
}

const undone = 'TMOK0';
const named: Readonly<Record<string, string>> = { TM011: 'FENCED', TM012: 'NO_SUCH_COMMAND' };

/** Each statement in a subtransaction of its own, which is rolled back. */
const tried = `create function pg_temp.tried(p_statements text[]) returns setof json language plpgsql as $$
  declare v_statement text; v json;
  begin
    foreach v_statement in array p_statements loop
      begin
        execute v_statement into v;
        raise exception using errcode = '${undone}', message = v::text;
      exception when others then
        return next json_build_object('code', sqlstate, 'result', case sqlstate when '${undone}' then sqlerrm::json end);
      end;
    end loop;
  end $$`;

export async function outcomeOf(call: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { result: await call() };
  } catch (error) {
    const { code } = error as { code?: unknown };
    // Without a code it is a mistake of the test or of the journal, and no refusal.
    if (code === undefined) throw error;
    return { code };
  }
}

/**
 * The journal in Postgres and the one in memory, with the same commands in them, whatever states
 * these are in. Shards 0 and 1 are held under `fence`'s epoch.
 */
export async function twinJournals() {
  const rig = await journalRig();
  const memory = new MemoryJournal();
  const journals: readonly CommandJournal[] = [rig.journal, memory];
  for (const journal of journals) for (const shard of [0, 1]) await journal.takeOver({ ...fence, shard }, 0, 0);
  const session = await rig.rival();
  await session.query(tried);
  /** Past the guards: only a superuser may, and only to prepare a test. */
  const force = (statement: string, values: unknown[]) =>
    session
      .query("set session_replication_role = 'replica'")
      .then(() => session.query(statement, values))
      .finally(() => session.query("set session_replication_role = 'origin'"));

  return {
    rig,
    memory,
    force,
    /** A command in this state, with attempts in these, prepared under `epoch`. */
    async add(
      state: Command['state'],
      attempts: readonly AttemptState[],
      over: { readonly asked?: Partial<NewCommand>; readonly epoch?: bigint; readonly orderId?: string } = {},
    ): Promise<Command> {
      const asked = newPlace(over.asked);
      for (const journal of journals) await journal.open(asked, fence);
      const { commandId } = asked;
      await force(
        `update commands set state = $2, settled_at = case when $3 then created_at end, order_id = coalesce($4, order_id) where command_id = $1`,
        [commandId, state, isFinal(state), over.orderId ?? null],
      );
      for (const [i, its] of attempts.entries())
        await force(
          `insert into attempts (attempt_id, command_id, number, state, epoch, prepared_at)
           select coalesce((select attempt_id from attempts where command_id = $1 and number = $2), 'tm-' || gen_random_uuid()), $1, $2, $3, $4, now()
           on conflict (attempt_id) do update set state = excluded.state, epoch = excluded.epoch`,
          [commandId, i + 1, its, over.epoch ?? fence.epoch],
        );
      const command = await rig.journal.find(commandId);
      if (command === undefined) throw new Error(`${commandId} was not opened`);
      memory.commands.set(commandId, command);
      return command;
    },
    /**
     * The names of the calls whose outcomes differ, with both outcomes, and how many were refused.
     */
    async compare(calls: readonly TwinCall[]) {
      const { rows } = await session.query<{ it: { code: string; result: unknown } }>(
        'select pg_temp.tried($1) as it',
        [calls.map(({ sql }) => sql)],
      );
      const differing: { name: string; postgres: Outcome; memory: Outcome }[] = [];
      let refused = 0;
      for (const [i, { name, of, call }] of calls.entries()) {
        const { code, result } = rows[i]?.it ?? { code: 'no answer', result: null };
        const postgres = code === undone ? { result: decoded(result) } : { code: named[code] ?? code };
        memory.commands.set(of.commandId, of);
        const inMemory = await outcomeOf(() => call(memory));
        memory.commands.set(of.commandId, of);
        if ('code' in postgres) refused += 1;
        if (!same(postgres, inMemory)) differing.push({ name, postgres, memory: inMemory });
      }
      return { differing, refused };
    },
    /** Each of them gets the same calls of the port. The first answer is that of Postgres. */
    async both<T>(work: (journal: CommandJournal) => Promise<T>): Promise<readonly T[]> {
      const results = [];
      for (const journal of journals) results.push(await work(journal));
      return results;
    },
    /** All that were ever raised, in Postgres and in memory, by id. */
    async halts() {
      const { rows } = await session.query(
        `select halt_id as "haltId", cause, reason, raised_by as by, cleared_by as "clearedBy", cleared_reason as "clearedReason" from halts order by halt_id`,
      );
      const shown = ({ haltId, cause, reason, by, clearedBy, clearedReason }: Halt) => ({
        ...{ haltId, cause, reason, by, clearedBy: clearedBy ?? null, clearedReason: clearedReason ?? null },
      });
      return [rows, memory.halts.map(shown).sort((a, b) => (a.haltId < b.haltId ? -1 : 1))];
    },
    /** Halts and cancel-alls are as at the start. */
    async forget() {
      for (const table of ['halts', 'cancel_alls']) await force(`delete from ${table}`, []);
      memory.halts.length = 0;
      memory.cancelAlls.length = 0;
      memory.endedCancelAlls.clear();
    },
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

/** A call of one of the journal's functions. */
export function sqlCall(name: string, ...args: readonly (string | number | bigint | object)[]): string {
  const literal = (each: string | number | bigint | object) =>
    typeof each === 'object'
      ? `${pg.escapeLiteral(storableJson(each))}::json`
      : typeof each === 'string'
        ? pg.escapeLiteral(each)
        : `${each}`;
  return `select to_json(public.${name}(${args.map(literal).join(', ')}))`;
}

export function fenced(): Fence {
  return { ...fence, epoch: fence.epoch + 9n };
}

function decoded(result: unknown): unknown {
  if (typeof result !== 'object' || result === null) return result;
  if ('moved' in result) return { ...result, moved: (result.moved as StoredCommand[]).map(decodeCommand) };
  if (!('command' in result)) return result;
  const { halts, ...rest } = result as { halts?: unknown; command: unknown };
  return { ...rest, command: decodeCommand(rest.command as StoredCommand), ...(halts !== null && { halts }) };
}

function same(one: Outcome, other: Outcome): boolean {
  return printed(one) === printed(other);
}

/** In one order of names: absent and undefined are one. */
function printed(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) => {
    if (typeof each === 'bigint') return `${each}n`;
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return each;
    return Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
