import { clip, printable } from '../cli/io/format-text.ts';
import type { CliIo } from '../cli/io/io.ts';
import { askSandbox } from './ask-sandbox.ts';
import { decisionsOn } from './decisions-on.ts';
import { type ShownAnswer, ShownRest } from './shown-rest.ts';
import type { DemoStack } from './start-stack.ts';

interface FollowOptions {
  /** Printed before each line: the command's name. */
  readonly name: string;
  readonly say: (line: string) => void;
  readonly limitMs: number;
  /** The number of facts shown before. */
  readonly known?: number;
  /** Ends the waiting early. */
  readonly enough?: (state: FollowedCommand) => boolean;
  readonly signal: AbortSignal;
}

interface FollowedCommand {
  readonly commandId: string;
  readonly result: string;
  readonly presumedAbsent: boolean;
  /** Its attempts' ids. The platform knows the order by them. */
  readonly references: readonly string[];
  /** Complete reads that did not show it. */
  readonly misses: number;
  /** Its evidence so far, counted; all facts are shown. */
  readonly known: number;
}

const everyMs = 200;

/**
 * Shows each piece of a command's evidence as it comes, until the command is resolved or the time
 * limit is reached.
 */
async function followCommand(
  io: Pick<CliIo, 'clock'>,
  show: ShownRest,
  commandId: string,
  options: FollowOptions,
): Promise<FollowedCommand> {
  const { name, say, limitMs, known = 0, enough, signal } = options;
  const deadline = io.clock.monotonicMs() + limitMs;
  let shown = known;
  for (;;) {
    const { body } = await show.ask({ method: 'GET', path: `/v1/commands/${commandId}` });
    const evidence: readonly Readonly<Record<string, unknown>>[] = Array.isArray(body['evidence'])
      ? body['evidence']
      : [];
    for (const fact of evidence.slice(shown)) say(`  ${name}  ${factLine(fact)}`);
    shown = evidence.length;
    const state = { ...stateOf(commandId, body), known: shown };
    const over =
      resolved(state.result) || enough?.(state) === true || signal.aborted || io.clock.monotonicMs() > deadline;
    if (over) {
      say(`  ${name}  ⇒ ${state.result}${state.presumedAbsent ? ', presumed absent' : ''}`);
      return state;
    }
    await io.clock.sleep(everyMs, signal);
  }
}

function resolved(result: string): boolean {
  return result !== 'unknown' && result !== 'accepted' && result !== 'conflict';
}

function stateOf(commandId: string, body: Readonly<Record<string, unknown>>): Omit<FollowedCommand, 'known'> {
  const attempts: readonly Readonly<Record<string, unknown>>[] = Array.isArray(body['attempts'])
    ? body['attempts']
    : [];
  return {
    commandId,
    result: String(body['result']),
    presumedAbsent: body['presumedAbsent'] === true,
    references: attempts.map(({ attemptId }) => String(attemptId)),
    misses: Number(body['misses'] ?? 0),
  };
}

/** One piece of evidence, for people. */
export function factLine({ at, kind, code, detail }: Readonly<Record<string, unknown>>): string {
  const facts = typeof detail === 'object' && detail !== null ? Object.entries(detail) : [];
  const texts = facts
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(', ');
  const line = `${String(at).slice(11, 23)}  ${String(kind)} ${String(code)}${texts === '' ? '' : `: ${texts}`}`;
  return clip(printable(line), 200);
}

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

const accountId = 'SIM-1001';
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
  await placeAndReplace(show);
  if (!signal.aborted) await landed(show);
  if (!signal.aborted) await lateAndLost(show);
  return { faults: show.faults };
}

async function placeAndReplace(show: Show): Promise<void> {
  const { rest, say, stack, io } = show;
  say('1. Place a prediction order, and replace its price and quantity');
  const [symbol = ''] = stack.sandbox.predictionSymbols;
  const terms = { accountId, symbol, outcome: 'YES', side: 'buy', orderType: 'limit', timeInForce: 'gtc' };
  const body = { ...terms, quantity: '10', price: '0.01', clientOrderRef: 'demo-1' };
  const headers = { 'idempotency-key': io.random.uuid(), prefer: 'wait=10' };
  const placed = await rest.send({ method: 'POST', path: '/v1/predictions/orders', headers, body });
  await expectResult(show, 'placed  ', placed, ['applied']);
  const { orderId } = placed.body;
  if (typeof orderId !== 'string') return;
  const replaced = await rest.send({
    method: 'PATCH',
    path: `/v1/predictions/orders/${orderId}`,
    headers: { 'idempotency-key': io.random.uuid(), prefer: 'wait=10' },
    body: { accountId, quantity: '12', price: '0.02' },
  });
  await expectResult(show, 'replaced', replaced, ['applied']);
}

async function landed(show: Show): Promise<void> {
  show.say('\n2. A 504 that had landed: the platform says that it does not know; the stream knows better');
  await nextWrite(show, { applied: 'yes' });
  const answer = await placeEquity(show, 'AAPL');
  await expectResult(show, 'landed  ', answer, ['applied']);
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
  await Promise.all([expectResult(show, 'late    ', late, ['applied']), lostForGood(show, lost)]);
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
  if (resolved(state.result)) {
    show.faults.push(`${commandId} is ${state.result}, and that could not be known`);
    return;
  }
  const decisions = await decisionsOn(io.fetch, stack.sandbox.control, state.references);
  say(
    `  lost      ${state.misses} complete reads did not show it, which proves nothing yet: after 10 minutes it is labelled "presumed absent".`,
  );
  say(
    `  lost      An operator asks the platform; its ledger says: ${decisions.join(', ') || 'nothing'}. So the operator resolves it:`,
  );
  say(
    `  $ npx tidemark command resolve ${commandId} --url ${stack.restAddress} --result rejected --reason "not in the platform's ledger"`,
  );
  const resolution = { result: 'rejected', reason: "not in the platform's ledger" };
  await rest.ask({ method: 'POST', path: `/v1/commands/${commandId}/resolution`, body: resolution });
  await judged(show, 'lost    ', commandId, ['rejected'], state.known);
}

function declined({ faults }: Show, name: string, { status, body }: ShownAnswer): void {
  faults.push(`${name}: answered ${status} ${String(body['code'])}`);
}

async function expectResult(show: Show, name: string, answer: ShownAnswer, wanted: readonly string[]): Promise<void> {
  const { commandId } = answer.body;
  if (typeof commandId !== 'string') return declined(show, name.trim(), answer);
  await judged(show, name, commandId, wanted);
}

/** Follows it to its end, and compares the verdict with the announced one. */
async function judged(
  show: Show,
  name: string,
  commandId: string,
  wanted: readonly string[],
  known = 0,
): Promise<void> {
  const { io, rest, say, signal } = show;
  const state = await followCommand(io, rest, commandId, { name, say, limitMs: followMs, known, signal });
  if (!signal.aborted && !wanted.includes(state.result))
    show.faults.push(`${name.trim()}: ${state.result} where ${wanted.join(' or ')} was due`);
}

/** A buy far below the market: it rests, and does not affect the rest of the demo. */
function placeEquity({ rest, io }: Show, symbol: string): Promise<ShownAnswer> {
  const body = { accountId, symbol, side: 'BUY', type: 'LIMIT', qty: '5', price: '1.00', timeInForce: 'GTC' };
  return rest.send({ method: 'POST', path: '/v1/orders', headers: { 'idempotency-key': io.random.uuid() }, body });
}

async function nextWrite(
  { io, stack }: Show,
  how: { readonly applied: string; readonly delayMs?: number },
): Promise<void> {
  const rule = { on: 'write', fault: 'outcome_unknown', write: 'place', accountId, ...how };
  await askSandbox(io, stack.sandbox.control, '/faults', { rules: [rule] });
}
