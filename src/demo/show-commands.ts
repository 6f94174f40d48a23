import type { CliIo } from '../cli/io/io.ts';
import { askSandbox, decisionsOn } from './ask-sandbox.ts';
import { type FollowedCommand, followCommand, isResolved } from './follow-command.ts';
import { type ShownAnswer, ShownRest } from './shown-rest.ts';
import { shownAccount as accountId, restingBuy } from './stack/demo-sandbox.ts';
import type { DemoStack } from './start-stack.ts';

/** The results of the demo's own commands. */
export interface CommandsShown {
  /**
   * Steps with another result than announced. The proof at the end holds every verdict against the
   * ledger.
   */
  readonly faults: readonly string[];
}

interface Show {
  readonly io: CliIo;
  readonly stack: DemoStack;
  readonly rest: ShownRest;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
  readonly faults: string[];
}

const followMs = 60_000;
/**
 * Later than the four lookups by reference (0.25, 0.5, 1 and 2 s): they miss it and the reader sees
 * it.
 */
const lateMs = 4500;
/**
 * After this many complete reads without it, a person on call would look into the platform's own
 * records.
 */
const enoughMisses = 4;

/**
 * Places, replaces, and lets three writes end in a 504: one landed before it, one did not, and one
 * lands late. Evidence resolves each.
 */
export async function showCommands(
  io: CliIo,
  stack: DemoStack,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<CommandsShown> {
  const rest = new ShownRest(io, { address: stack.restAddress, say });
  const show: Show = { io, stack, rest, say, signal, faults: [] };
  say('\nCommands, by REST (each line can be copied; its key keeps it from being sent twice):\n');
  const { predictionSymbol } = stack.sandbox;
  if (predictionSymbol === undefined) await placeAndCancel(show);
  else await placeAndReplace(show, predictionSymbol);
  if (!signal.aborted) await landed(show);
  if (!signal.aborted) await lateAndLost(show);
  return { faults: show.faults };
}

async function placeAndReplace(show: Show, symbol: string): Promise<void> {
  const { rest, say } = show;
  say('1. Place a prediction order, and replace its price and quantity');
  const terms = { accountId, symbol, outcome: 'YES', side: 'buy', orderType: 'limit', timeInForce: 'gtc' };
  const body = { ...terms, quantity: '10', price: '0.01', clientOrderRef: 'demo-1' };
  const placed = await rest.send({ method: 'POST', path: '/v1/predictions/orders', headers: waiting(show), body });
  await expectResult(show, 'placed  ', placed);
  const { orderId } = placed.body;
  if (typeof orderId !== 'string') return;
  const replaced = await rest.send({
    method: 'PATCH',
    path: `/v1/predictions/orders/${orderId}`,
    headers: waiting(show),
    body: { accountId, quantity: '12', price: '0.02' },
  });
  await expectResult(show, 'replaced', replaced);
}

async function placeAndCancel(show: Show): Promise<void> {
  const { rest, say, stack } = show;
  say('1. Place an order, and cancel it (Alpaca has no prediction orders)');
  const placed = await placeEquity(show, 'XOM', { prefer: 'wait=10' });
  await expectResult(show, 'placed  ', placed);
  const { orderId } = placed.body;
  if (typeof orderId !== 'string') return;
  const query = new URLSearchParams({ accountId, stream: stack.sandbox.stream });
  const canceled = await rest.send({
    method: 'DELETE',
    path: `/v1/orders/${orderId}?${query}`,
    headers: waiting(show),
  });
  await expectResult(show, 'canceled', canceled);
}

async function landed(show: Show): Promise<void> {
  show.say('\n2. A 504 that had landed: the answer does not say so, and the stream does');
  await nextWrite(show, { applied: 'yes' });
  const answer = await placeEquity(show, 'AAPL');
  await expectResult(show, 'landed  ', answer);
}

/**
 * In parallel, so that the user waits once only. The account halts at a limit, and two unresolved
 * commands are below it.
 */
async function lateAndLost(show: Show): Promise<void> {
  const { say } = show;
  say(
    `\n3. A 504 that lands late (after ${lateMs / 1000} s), and 4. one that had not landed: until something is seen both are unknown, and nothing is sent again`,
  );
  await nextWrite(show, { applied: 'late', delayMs: lateMs });
  const late = await placeEquity(show, 'KO');
  await nextWrite(show, { applied: 'no' });
  const lost = await placeEquity(show, 'MSFT');
  await Promise.all([expectResult(show, 'late    ', late), lostForGood(show, lost)]);
}

/**
 * Absence alone is never a verdict: after ten minutes it becomes the label "presumed absent". A
 * person who knows more resolves it.
 */
async function lostForGood(show: Show, answer: ShownAnswer): Promise<void> {
  const { rest, say, io, stack, signal } = show;
  const { commandId } = answer.body;
  if (typeof commandId !== 'string') return declined(show, 'lost', answer);
  const enough = ({ misses }: FollowedCommand) => misses >= enoughMisses;
  const state = await followCommand(io, rest, commandId, { name: 'lost    ', say, limitMs: followMs, enough, signal });
  if (isResolved(state.result)) {
    show.faults.push(`${commandId} is ${state.result}, and that could not be known`);
    return;
  }
  const reason = `not in the ledger of ${stack.sandbox.name}`;
  const decisions = await decisionsOn(io.fetch, stack.sandbox.control, state.references);
  say(
    `  lost      ${state.misses} complete reads did not show it, which proves nothing yet: after 10 minutes it is labelled "presumed absent".`,
  );
  say(
    `  lost      An operator asks ${stack.sandbox.name}; its ledger says: ${decisions.join(', ') || 'nothing'}. So the operator resolves it:`,
  );
  say(
    `  $ npx tidemark command resolve ${commandId} --url ${stack.restAddress} --result rejected --reason "${reason}"`,
  );
  await rest.ask({
    method: 'POST',
    path: `/v1/commands/${commandId}/resolution`,
    body: { result: 'rejected', reason },
  });
  await judged(show, 'lost    ', commandId, 'rejected', state.evidence.length);
}

function declined({ faults }: Show, name: string, { status, body }: ShownAnswer): void {
  faults.push(`${name}: answered ${status} ${String(body['code'])}`);
}

async function expectResult(show: Show, name: string, answer: ShownAnswer): Promise<void> {
  const { commandId } = answer.body;
  if (typeof commandId !== 'string') return declined(show, name.trim(), answer);
  await judged(show, name, commandId, 'applied');
}

/** Follows it to its end, and compares the verdict with the announced one. */
async function judged(show: Show, name: string, commandId: string, wanted: string, known = 0): Promise<void> {
  const { io, rest, say, signal } = show;
  const state = await followCommand(io, rest, commandId, { name, say, limitMs: followMs, known, signal });
  if (!signal.aborted && state.result !== wanted)
    show.faults.push(`${name.trim()}: ${state.result} where ${wanted} was due`);
}

/** A key of its own, and the answer once the result is known. */
function waiting({ io }: Show) {
  return { 'idempotency-key': io.random.uuid(), prefer: 'wait=10' };
}

function placeEquity(
  { rest, io, stack }: Show,
  symbol: string,
  more: Readonly<Record<string, string>> = {},
): Promise<ShownAnswer> {
  const headers = { 'idempotency-key': io.random.uuid(), ...more };
  return rest.send({ method: 'POST', path: '/v1/orders', headers, body: restingBuy(stack.sandbox, accountId, symbol) });
}

async function nextWrite(
  { io, stack }: Show,
  how: { readonly applied: string; readonly delayMs?: number },
): Promise<void> {
  const rule = { on: 'write', fault: 'outcome_unknown', write: 'place', accountId, ...how };
  await askSandbox(io, stack.sandbox.control, '/faults', { rules: [rule] });
}
