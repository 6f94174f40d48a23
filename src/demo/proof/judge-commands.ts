import type { Pool } from 'pg';
import { attemptPrefix, type CommandState, isFinal, isUnresolved, makesOrder } from '../../domain/command.ts';
import type { Stream } from '../../domain/order.ts';
import { type CommandTruth, type LedgerWrite, readCommandTruth, type TrueOrder } from './command-truth.ts';

/** A command as the database holds it, with its attempts. */
export interface JournaledCommand {
  readonly commandId: string;
  readonly kind: 'place' | 'replace' | 'cancel';
  readonly stream: Stream;
  readonly state: CommandState;
  /** The order that it names, or the one that it made. */
  readonly orderId: string | null;
  readonly quantity: string | null;
  readonly attempts: readonly {
    readonly attemptId: string;
    readonly state: string;
    readonly sendingAtMs: number | null;
  }[];
}

/**
 * Every disagreement between journal and ledger, as sentences; empty when every promise was kept.
 * The platform must be healed and at rest: neither knows about writes that may still land.
 */
export function judgeCommands(commands: readonly JournaledCommand[], truth: CommandTruth): string[] {
  const byAttempt = new Map(
    commands.flatMap((command) => command.attempts.map(({ attemptId }) => [attemptId, command])),
  );
  const alike = Map.groupBy(commands, nameOf);
  const writesOf = Map.groupBy(truth.writes, (write) => {
    const making = byAttempt.get(write.reference ?? '');
    return making === undefined ? nameOf(write) : nameOf(making);
  });
  const unexplained = [...writesOf].flatMap(([name, writes]) =>
    alike.has(name) || writes.every(isOfAnother) ? [] : [name],
  );
  return [
    ...unexplained.map((name) => `no command explains ${name}`),
    ...[...alike].flatMap(([name, of]) => fewestFaults(of, writesOf.get(name) ?? [], truth)),
  ];
}

/** A replace that made an order has ended the order that it names. */
function linkFaults(
  command: JournaledCommand,
  writes: readonly LedgerWrite[],
  orders: ReadonlyMap<string, TrueOrder>,
): string[] {
  if (command.kind !== 'replace' || command.state !== 'applied' || !makesOrder(command)) return [];
  const ended = writes.map(({ orderId = '' }) => orders.get(orderId)?.state);
  return ended.includes('replaced') ? [] : [`the order that it names is ${ended.join(', ')}`];
}

/** Another program's, with a reference of its own. */
function isOfAnother({ kind, reference }: LedgerWrite): boolean {
  return kind === 'replace' && reference !== undefined && !reference.startsWith(attemptPrefix);
}

/** What a write shows of its command: its attempt if it makes an order, else what it asks for. */
function nameOf(asked: JournaledCommand | LedgerWrite): string {
  if ('commandId' in asked && makesOrder(asked)) return `${asked.kind} ${asked.commandId}`;
  if (!('commandId' in asked) && asked.reference !== undefined) return `${asked.kind} ${asked.reference}`;
  return `${asked.kind} ${asked.orderId}${asked.kind === 'replace' ? ` ${asked.quantity ?? ''}` : ''}`;
}

const mostWays = 4096;

/**
 * Two cancels of one order look the same at the platform. So of all ways to give its writes to the
 * commands, the one that leaves the fewest faults counts.
 */
function fewestFaults(
  commands: readonly JournaledCommand[],
  writes: readonly LedgerWrite[],
  { orders }: CommandTruth,
): string[] {
  const ways = Math.min(mostWays, commands.length ** writes.length);
  let fewest: string[] | undefined;
  for (let way = 0; way < ways && fewest?.length !== 0; way += 1) {
    const ownerOf = (at: number) => Math.floor(way / commands.length ** at) % commands.length;
    const faults = commands.flatMap((command, i) => {
      const own = writes.filter((_, at) => ownerOf(at) === i);
      const madeId = own.find((write) => write.madeId !== undefined)?.madeId;
      const order = orders.get(madeId ?? command.orderId ?? '');
      const found = [
        ...wireFaults(command, own),
        ...verdictFaults(command, own, order),
        ...linkFaults(command, own, orders),
      ];
      return found.map((fault) => `${command.kind} ${command.commandId} (${command.state}): ${fault}`);
    });
    if (fewest === undefined || faults.length < fewest.length) fewest = faults;
  }
  return fewest ?? [];
}

/**
 * The times of two processes are compared, and a machine's clock may be set between the two. Two
 * processors may differ by some milliseconds, too.
 */
const clocksDifferByMs = 100;

/**
 * Invariants 12 and 13: one write an attempt, its row committed before the first byte, and one
 * acceptance a command.
 */
function wireFaults({ attempts }: JournaledCommand, writes: readonly LedgerWrite[]): string[] {
  const faults: string[] = [];
  const sent = attempts.filter(({ sendingAtMs }) => sendingAtMs !== null);
  if (writes.length > sent.length) faults.push(`${writes.length} writes and ${sent.length} attempts that were sent`);
  for (const { attemptId } of attempts) {
    const own = writes.filter(({ reference }) => reference === attemptId);
    if (own.length > 1) faults.push(`attempt ${attemptId} was written ${own.length} times`);
  }
  const firstMs = Math.min(...writes.map(({ atMs }) => atMs));
  const committedMs = Math.min(...sent.map(({ sendingAtMs }) => sendingAtMs ?? Number.POSITIVE_INFINITY));
  const earlyMs = writes.length > 0 ? committedMs - firstMs : 0;
  if (earlyMs > clocksDifferByMs) faults.push(`the platform had it ${earlyMs} ms before its attempt was committed`);
  if (acceptances(writes) > 1) faults.push(`accepted ${acceptances(writes)} times`);
  return faults;
}

/**
 * Invariant 14: the verdict against the actual effect. `unknown` is allowed if no visible effect
 * was there.
 */
function verdictFaults(
  command: JournaledCommand,
  writes: readonly LedgerWrite[],
  order: TrueOrder | undefined,
): string[] {
  const { state, kind } = command;
  if (makesOrder(command) && order !== undefined && acceptances(writes) > 0) return placeFaults(state, order);
  const effect = tookEffect(command, writes, order);
  if (isRefusedUnseen(command, writes, order)) return [];
  if (!isFinal(state) && state !== 'unknown') return ['is neither resolved nor unknown'];
  if (state === 'applied') return effect ? [] : ['it never took effect'];
  if (effect) return ['it took effect'];
  if (kind === 'place' && state === 'moot') return ['a place is never moot'];
  if (state === 'moot' && order?.closed !== true) return ['the order is not over'];
  return [];
}

/** A place with an order at the platform, against its venue's decision. */
function placeFaults(state: CommandState, order: TrueOrder): string[] {
  const taken =
    order.steps.has('accepted') || order.steps.has('fill') || !['pending_new', 'rejected'].includes(order.state);
  const right = taken ? 'applied' : order.state === 'rejected' ? 'rejected' : 'accepted';
  if (state === right) return [];
  if (!isFinal(state) && state !== 'unknown' && state !== 'accepted') return ['is neither resolved nor unknown'];
  if (state === 'applied') return [`the venue never took it: its order is ${order.state}`];
  return [taken ? 'it took effect' : `its order is ${order.state}`];
}

function tookEffect(
  { kind, stream, quantity }: JournaledCommand,
  writes: readonly LedgerWrite[],
  order: TrueOrder | undefined,
): boolean {
  if (makesOrder({ kind, stream })) return acceptances(writes) > 0;
  if (kind === 'replace' && quantity === null)
    return acceptances(writes) > 0 && order?.steps.has('replace_accepted') === true;
  if (kind === 'replace') return order?.amendedTo.has(quantity ?? '') === true;
  // Only a cancel that the platform took can have canceled it; the market's own cancels leave
  // people's orders alone.
  return acceptances(writes) > 0 && order?.steps.has('canceled') === true;
}

/**
 * The platform took it, the venue refused it, and both were over before anybody looked. Old terms
 * that were never seen pending prove nothing (docs/commands.md, "How unknown is resolved"). So only
 * `accepted` can be said, and it is alarmed.
 */
function isRefusedUnseen(
  { kind, state }: JournaledCommand,
  writes: readonly LedgerWrite[],
  order: TrueOrder | undefined,
): boolean {
  return (
    state === 'accepted' &&
    kind !== 'place' &&
    acceptances(writes) === 1 &&
    order?.steps.has(`${kind}_refused`) === true
  );
}

function acceptances(writes: readonly LedgerWrite[]): number {
  return writes.flatMap(({ decisions }) => decisions).filter((decision) => decision === 'accepted').length;
}

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
    unresolved: rows.filter(({ state }) => isUnresolved(state)).length,
    byState,
    faults,
  };
}
