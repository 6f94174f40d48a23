import type { Pool } from 'pg';
import { isFinal } from '../../domain/command.ts';
import { readCommandTruth } from './command-truth.ts';
import { type JournaledCommand, judgeCommands } from './judge-commands.ts';

/**
 * Every command in the journal held against the platform's ledger: the demo's own, and those that a
 * user placed or resolved.
 */
export interface CommandsProof {
  readonly commands: number;
  readonly resolved: number;
  /** Those with an unknown or contradicted result. */
  readonly unresolved: number;
  /** How many have each state. */
  readonly byState: Readonly<Record<string, number>>;
  /**
   * Verdicts that the ledger contradicts, and writes that were sent twice. Sentences for people.
   */
  readonly faults: readonly string[];
}

/** Reads every command with its attempts as `JournaledCommand`. */
export const journaledCommands = `select c.command_id as "commandId", c.kind, c.stream, c.state, c.order_id as "orderId",
    coalesce(c.request #>> '{terms,quantity}', c.request #>> '{terms,qty}') as quantity,
    (select coalesce(json_agg(json_build_object('attemptId', a.attempt_id, 'state', a.state,
       'sendingAtMs', extract(epoch from a.sending_at) * 1000) order by a.number), '[]')
     from public.attempts a where a.command_id = c.command_id) as attempts
  from public.commands c`;

/**
 * Compares journal and ledger. The platform must be healed and at rest: neither knows about writes
 * that may still land. `control`: the sandbox's control port.
 */
export async function proveCommands(
  deps: { readonly pool: Pool; readonly fetch: typeof fetch },
  control: string,
): Promise<CommandsProof> {
  const { rows } = await deps.pool.query<JournaledCommand>(journaledCommands);
  const faults = judgeCommands(rows, await readCommandTruth(deps.fetch, control));
  const byState: Record<string, number> = {};
  for (const { state } of rows) byState[state] = (byState[state] ?? 0) + 1;
  return {
    commands: rows.length,
    resolved: rows.filter(({ state }) => isFinal(state)).length,
    unresolved: rows.filter(({ state }) => state === 'unknown' || state === 'conflict' || state === 'open').length,
    byState,
    faults,
  };
}
