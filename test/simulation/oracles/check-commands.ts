import { type Command, type CommandState, isFinal, makesOrder } from '../../../src/domain/command.ts';
import { decodeHead } from '../../../src/domain/head.ts';
import type { Order } from '../../../src/domain/order.ts';
import { isTerminal } from '../../../src/domain/order.ts';
import { type ExchangeOrder, isClosed } from '../../../src/sandbox/exchange/exchange-order.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import type { LedgerWrite } from '../write-ledger.ts';
import { wasTaken } from './command-watch.ts';

const most = 5;

/**
 * What must hold of commands once the faults are over and some time has passed (docs/guarantees.md
 * 14, 15, "an unknown is never forgotten"): nothing is on its way any more, what can be known is
 * resolved, and what can't be is unknown and visible. Returns where that fails.
 */
export function unresolved(world: SimulatedWorld): string[] {
  const { ledger } = world.platform;
  const underway = ledger.writes
    .filter(({ fate }) => fate === 'underway')
    .map(({ attemptId }) => `${attemptId} is on its way`);
  const wrong = [...world.journal.commands.values()].flatMap((command) => {
    const allowed = allowedStates(command, world);
    if (allowed === undefined) return [`${command.commandId} waits for the venue`];
    return allowed.has(command.state) ? [] : [`${told(command)}, not ${[...allowed].join(' or ')}`];
  });
  return [
    ...underway.slice(0, most),
    ...wrong.slice(0, most),
    ...forgotten(world).slice(0, most),
    ...kept(world).slice(0, most),
    ...unhalted(world),
    ...landedAndLeft(world).slice(0, most),
    ...repeated(world).slice(0, most),
    ...withoutSuccessor(world).slice(0, most),
    ...world.results.missing().slice(0, most),
  ];
}

function told({ commandId, request, state, attempts }: Command): string {
  return `${commandId} (${request.kind} ${request.stream}, ${attempts.map((attempt) => attempt.state).join(', ')}) is ${state}`;
}

/**
 * What a command may be, by the platform's ledger and the orders that can still be read. Undefined:
 * the venue has it in hand.
 */
function allowedStates(command: Command, world: SimulatedWorld): ReadonlySet<CommandState> | undefined {
  const { platform, journal } = world;
  const { request, attempts, commandId } = command;
  if (journal.evidence.get(commandId)?.some(({ kind }) => kind === 'person') === true) return new Set([command.state]);
  const writes = attempts.flatMap(({ attemptId }) => platform.ledger.ofAttempt(attemptId));
  const done = writes.find(({ fate }) => fate === 'done');
  // A store that was lost shows nothing of what it forgot, and
  // versions that start again are no evidence.
  if (request.stream === 'prediction' && platform.storesLost.has(request.accountId)) return anything;
  if (request.kind === 'place') return placed(done);
  if (makesOrder(request)) return done === undefined ? new Set([...notDone, 'moot']) : placed(done);
  const order = platform.exchange.orders.get(command.orderId ?? '');
  // A correction may bring back an order that had ended.
  if (order === undefined || platform.corrected.has(order)) return anything;
  if (platform.reused.has(`${request.stream}:${command.orderId}`)) return anything;
  return request.kind === 'cancel' ? canceled(done, order) : replaced(command, done, order);
}

const notDone: ReadonlySet<CommandState> = new Set(['refused', 'not_sent', 'unknown']);
const anything: ReadonlySet<CommandState> = new Set([
  'refused',
  'not_sent',
  'unknown',
  'accepted',
  'applied',
  'rejected',
  'moot',
  'conflict',
]);

function placed(done: LedgerWrite | undefined): ReadonlySet<CommandState> {
  const order = done?.order;
  if (order === undefined) return notDone;
  if (wasTaken(order)) return new Set(['applied', ...(order.certainty === 'certain' ? [] : (['accepted'] as const))]);
  return new Set([order.state === 'rejected' ? 'rejected' : 'accepted']);
}

function canceled(done: LedgerWrite | undefined, order: ExchangeOrder): ReadonlySet<CommandState> | undefined {
  if (done !== undefined && done.venue === undefined) return undefined;
  // However it came to be: what was asked for is so.
  if (order.state === 'canceled') return new Set(['applied', 'refused', 'not_sent', 'rejected', 'moot']);
  if (isClosed(order.state)) return new Set(['moot', 'refused', 'not_sent', 'rejected']);
  if (done === undefined) return new Set([...notDone, 'rejected']);
  // Refused without anybody having seen it pending: nothing that could be
  // seen tells it from one that never arrived.
  return new Set(['rejected', 'unknown', 'accepted']);
}

function replaced(
  command: Command,
  done: LedgerWrite | undefined,
  order: ExchangeOrder,
): ReadonlySet<CommandState> | undefined {
  if (done !== undefined && done.venue === undefined) return undefined;
  if (done?.venue === 'granted')
    return new Set(['applied', 'conflict', 'moot', ...(isShown(command) ? [] : (['unknown'] as const))]);
  // Nobody may have seen its answer by itself: a cancel was in hand behind it.
  if (done?.venue === 'refused') return new Set(['rejected', 'unknown', 'accepted', 'conflict', 'moot']);
  const ended: CommandState[] = isClosed(order.state) ? ['moot', 'conflict'] : [];
  if (done?.venue === 'ended') return new Set(ended);
  return new Set([...(isClosed(order.state) ? (['refused', 'not_sent'] as const) : notDone), 'conflict', ...ended]);
}

/** Of the terms of a replace only these two have a working counterpart. */
function isShown({ request, baseline }: Command): boolean {
  if (request.kind !== 'replace' || baseline === undefined) return false;
  const { price, quantity } = request.terms;
  const { working } = baseline;
  return (price !== undefined && price !== working.price) || (quantity !== undefined && quantity !== working.quantity);
}

/** Everything that is not over is in the hands of whoever holds its account. */
function forgotten(world: SimulatedWorld): string[] {
  return [...world.journal.commands.values()].flatMap((command) => {
    if (isFinal(command.state)) return [];
    const holder = world.holderOf(command.request.accountId);
    if (holder === undefined || holder.follows(command.commandId)) return [];
    return [`${told(command)}, and ${holder.host.name} does not follow it`];
  });
}

/** A process that has given a shard away has forgotten the commands of it. */
function kept({ journal, services }: SimulatedWorld): string[] {
  const running = services.filter(({ exitCode }) => exitCode === undefined);
  return [...journal.commands.values()].flatMap((command) => {
    const { commandId, request } = command;
    const keeper = running.find((each) => each.follows(commandId) && !each.held.follows(request.accountId));
    return keeper === undefined ? [] : [`${told(command)}, and ${keeper.host.name} follows it without its shard`];
  });
}

/**
 * Each event of a command tells something that the one before it did not: reads
 * that show nothing are no news to anybody.
 */
function repeated({ journal }: SimulatedWorld): string[] {
  const told = new Map<string, string>();
  return journal.events.flatMap(({ command }) => {
    const { commandId, version, state, presumedAbsent, seenPendingAt, orderId, reason, attempts } = command;
    const attempted = attempts.map((attempt) => [attempt.attemptId, attempt.state]);
    const says = JSON.stringify([state, presumedAbsent, seenPendingAt?.revision, orderId, reason, attempted]);
    const isSame = told.get(commandId) === says;
    told.set(commandId, says);
    return isSame ? [`${commandId} tells version ${version}, which says nothing new`] : [];
  });
}

/**
 * The order of a place that a cancel-all named is cancelled as
 * it lands, whoever holds the lane by then.
 */
function landedAndLeft({ journal, database }: SimulatedWorld): string[] {
  // A fill that is taken back later opens an order again, long
  // after its cancel was refused (seed 4869).
  const ended = new Set(
    database.log.filter(({ topic, payload }) => topic === 'updates' && showsEnd(payload)).map(({ key }) => key),
  );
  const canceled = new Set(
    [...journal.commands.values()].flatMap(({ request }) => (request.kind === 'cancel' ? [request.orderId] : [])),
  );
  return journal.cancelAlls.flatMap(({ cancelAll }) =>
    cancelAll.places.flatMap(({ commandId, stream }) => {
      const { orderId, state } = journal.commands.get(commandId) ?? {};
      const order = orderId === undefined ? undefined : journal.orders.readOrder(stream, orderId)?.order;
      // An order that had ended when it was seen is refused a cancel.
      if (order?.commandId !== commandId || state !== 'applied' || canceled.has(order.orderId)) return [];
      if (isTerminal(order.status) || ended.has(`${stream}:${orderId}`)) return [];
      if (journal.evidence.get(commandId)?.some(({ kind }) => kind === 'person') === true) return [];
      return [
        `${commandId} landed as ${orderId} in spite of cancel-all ${cancelAll.cancelAllId}, and is not cancelled`,
      ];
    }),
  );
}

/**
 * An order of ours that was amended in the broker's own app goes on as another
 * one: that one is known to be of the same command.
 */
function withoutSuccessor({ platform, database, journal }: SimulatedWorld): string[] {
  return platform.surprises.amended.flatMap(({ elder, successor }) => {
    const { clOrdId, orderId } = successor.terms;
    const commandId = journal.ofAttempts([clOrdId]).get(clOrdId)?.commandId;
    const head = database.heads.get(platform.keyOf(successor));
    if (head === undefined || commandId === undefined || decodeHead(head).order.commandId === commandId) return [];
    return [`${orderId} took the place of ${elder.terms.orderId}, and is no order of ${commandId}`];
  });
}

function showsEnd(payload: string): boolean {
  return isTerminal((JSON.parse(payload) as { readonly order: Order }).order.status);
}

/** A landing behind the presumption of absence halts its account, for a person to look. */
function unhalted({ journal, commandWatch }: SimulatedWorld): string[] {
  return commandWatch.lateLandings
    .filter(
      ({ request }) =>
        !journal.halts.some(
          ({ cause, scope }) =>
            cause === 'late_landing' && scope.kind === 'account' && scope.accountId === request.accountId,
        ),
    )
    .map((command) => `${told(command)}, landed late, and nothing is halted`);
}
