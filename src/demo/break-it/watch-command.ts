import { type CommandState, isFinal } from '../../domain/command.ts';
import { askSandbox, decisionsOn } from '../ask-sandbox.ts';
import { type Fact, factText } from '../fact-text.ts';
import { restingBuy } from '../stack/demo-sandbox.ts';
import { DoubtWatch } from './doubt-watch.ts';
import type { WriteFaultOrder } from './fault-orders.ts';
import type { Incident } from './incident.ts';
import { readDoubts, type WatchDeps } from './watch-streams.ts';

interface CommandBody {
  readonly commandId?: string;
  readonly result?: CommandState;
  readonly detail?: string;
  readonly evidence?: readonly Fact[];
  readonly attempts?: readonly { readonly attemptId: string }[];
  readonly misses?: number;
}

/** One after another, so that an unresolved order does not forbid the next. */
const symbols = ['KO', 'F', 'PLTR', 'XOM', 'JPM'] as const;
const everyMs = 300;
/** After this many complete reads without it, a person would ask the platform. */
const enoughMisses = 4;
const patienceMs = 600_000;
/** A doubt that stays longer is about another command. */
const doubtMs = 2_000;

/**
 * Lets the next order end in a 504, places one by REST, and writes its evidence into the incident
 * until it is resolved.
 */
export async function watchCommand(
  deps: WatchDeps & { readonly uuid: () => string },
  incident: Incident,
  fault: WriteFaultOrder,
  signal: AbortSignal,
): Promise<void> {
  const { io, sandbox, rest, uuid } = deps;
  const { control, brokenAccount: accountId } = sandbox;
  const { action, ...how } = fault;
  const doubts = new DoubtWatch(await readDoubts(deps), { commands: true });
  await askSandbox(io, control, '/faults', {
    rules: [{ on: 'write', fault: 'outcome_unknown', write: 'place', accountId, ...how }],
  });
  incident.add('action', action);
  const symbol = symbols[incident.id % symbols.length] ?? symbols[0];
  const placed = await rest.ask({
    method: 'POST',
    path: '/v1/orders',
    headers: { 'idempotency-key': uuid() },
    body: restingBuy(sandbox, accountId, symbol),
  });
  const { commandId, detail } = placed.body as CommandBody;
  if (commandId === undefined) {
    // Its rule would wait for a user's next order.
    await askSandbox(io, control, '/heal', {});
    incident.end('stuck', `The service declined to place an order: ${detail ?? placed.status}.`);
    return;
  }
  incident.commandId = commandId;
  incident.add('action', `An order to buy 5 ${symbol} was placed for ${accountId}.`);
  await follow({ ...deps, doubts, waits: how.applied === 'no' }, incident, commandId, signal);
}

interface Following extends WatchDeps {
  readonly doubts: DoubtWatch;
  /** Only a person can resolve it. */
  readonly waits: boolean;
}

async function follow(deps: Following, incident: Incident, commandId: string, signal: AbortSignal): Promise<void> {
  const { io, rest, doubts } = deps;
  let shown = 0;
  let resolvedMs: number | undefined;
  while (incident.open && !signal.aborted) {
    const body = (await rest.ask({ method: 'GET', path: `/v1/commands/${commandId}` })).body as CommandBody;
    doubts.take(await readDoubts(deps), incident);
    const facts = body.evidence ?? [];
    for (const fact of facts.slice(shown)) {
      const text = factText(fact);
      if (text !== undefined) incident.add('evidence', text, orderOf(fact));
    }
    shown = facts.length;
    const { result = 'unknown', misses = 0 } = body;
    if (isFinal(result)) resolvedMs ??= incident.ageMs;
    const resolvedForMs = incident.ageMs - (resolvedMs ?? incident.ageMs);
    if (isFinal(result) && (doubts.clear || resolvedForMs > doubtMs))
      incident.end('healed', verdicts[result] ?? `The verdict is ${result}.`);
    else if (deps.waits && incident.underWay && misses >= enoughMisses) await askLedger(deps, incident, body);
    else if (incident.ageMs > patienceMs) incident.end('stuck', 'Its result is still not known.');
    await io.clock.sleep(everyMs, signal);
  }
}

const verdicts: Readonly<Partial<Record<CommandState, string>>> = {
  applied: 'Resolved: the order is at the platform, placed once.',
  rejected: 'Resolved: the order is not at the platform, and was sent once.',
};

/**
 * Absence proves nothing. A person on call would ask the platform, and the demo may look into the
 * platform's own records.
 */
async function askLedger(
  { io, sandbox }: Following,
  incident: Incident,
  { attempts = [], misses }: CommandBody,
): Promise<void> {
  const references = attempts.map(({ attemptId }) => attemptId);
  const decisions = await decisionsOn(io.fetch, sandbox.control, references);
  const word = decisions.includes('accepted') ? 'it took the order' : 'it never took the order';
  incident.wait(
    `${misses} complete reads did not show it. That proves nothing, so it stays unknown and is not sent again. The platform's own ledger says that ${word}: a person may resolve it now.`,
  );
}

function orderOf({ detail = {} }: Fact): { stream: string; orderId: string } | undefined {
  const { stream, orderId } = detail;
  return typeof stream === 'string' && typeof orderId === 'string' ? { stream, orderId } : undefined;
}
