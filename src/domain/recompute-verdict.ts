import {
  type AttemptState,
  type Command,
  type CommandRequest,
  type CommandState,
  type Evidence,
  makesOrder,
} from './command.ts';
import { commandTransition, standingOf } from './command-machine.ts';
import type { Order } from './order.ts';
import { resolveCommand } from './resolve-command.ts';
import type { Because, BoundOrder, Resolving, ResolvingUpdate } from './resolving.ts';

interface RecomputedVerdict {
  readonly state: CommandState;
  /**
   * Its basis: a rule of resolving, a person's decision, the last attempt's answer, or our own
   * refusal.
   */
  readonly because: Because | 'person' | 'answer' | 'refused_here';
  /**
   * False: the recorded verdict does not follow from the facts known now, and a person should look.
   * Updates older than the log's retention are no longer known.
   */
  readonly agrees: boolean;
}

/**
 * The verdict again, from the command's attempts, its evidence and its order's updates alone,
 * without using the recorded state. `tidemark command show` prints it.
 */
export function recomputeVerdict(
  command: Command,
  evidence: readonly Evidence[],
  updates: readonly ResolvingUpdate[],
): RecomputedVerdict {
  const verdictOf = (state: CommandState, because: RecomputedVerdict['because']): RecomputedVerdict => ({
    state,
    because,
    agrees: state === command.state,
  });
  const { orderId: _recorded, ...rest } = command;
  const answered: Command = {
    ...(makesOrder(command.request) ? rest : command),
    state: answeredState(command),
    presumedAbsent: false,
  };
  const rivals = hadRivals(evidence);
  const known = [...recordedViews(command, evidence), ...updates];
  const finding = resolveCommand({ command: answered, updates: known, rivals, ...lookedUp(command, evidence) });
  const word = personsWord(evidence);
  if (finding.kind === 'verdict' && finding.event.startsWith('bound')) {
    // An order that is there outweighs a person's decision made before it appeared. If the person
    // knew about the order, only its working outweighs the decision.
    const outweighs = word === undefined || !word.afterLanding || finding.result === 'applied';
    const transition = commandTransition(command.request.kind, standingOf(answered), finding.event);
    if (outweighs && typeof transition !== 'string') return verdictOf(transition.to, finding.because);
  }
  if (word !== undefined) return verdictOf(word.result, 'person');
  if (finding.kind === 'verdict') return verdictOf(finding.result, finding.because);
  return verdictOf(answered.state, command.attempts.length === 0 ? 'refused_here' : 'answer');
}

/** The state just after the last attempt was answered, with nothing observed yet. */
function answeredState({ attempts }: Command): CommandState {
  const last = attempts.at(-1);
  return last === undefined ? 'refused' : answeredStates[last.state];
}

const answeredStates: Readonly<Record<AttemptState, CommandState>> = {
  prepared: 'open',
  sending: 'open',
  not_sent: 'not_sent',
  refused: 'refused',
  rejected: 'rejected',
  accepted: 'accepted',
  unknown: 'unknown',
};

function lookedUp(
  { commandId }: Command,
  evidence: readonly Evidence[],
): Pick<Resolving, 'bound' | 'successor' | 'stillEnded'> {
  const bound: BoundOrder[] = [];
  let successor: Resolving['successor'];
  for (const { code, attemptId, detail } of evidence) {
    const orderId = detail['orderId'];
    if (code === 'no_successor') successor = {};
    if (typeof orderId !== 'string') continue;
    if (code === 'successor_found') successor = { orderId };
    if (attemptId !== undefined && (isLanding(code) || code === 'other_identity'))
      bound.push({ attemptId, commandId, orderId, matches: isLanding(code) });
  }
  const stillEnded = evidence.some(({ code }) => code === 'still_ended');
  return { bound, stillEnded, ...(successor && { successor }) };
}

/** The orders it made as its evidence has them: the log of updates may no longer go back so far. */
function recordedViews({ request }: Command, evidence: readonly Evidence[]): ResolvingUpdate[] {
  if (!makesOrder(request)) return [];
  return evidence.flatMap(({ code, detail, attemptId }) => {
    const { revision, cause } = detail;
    if (attemptId === undefined || !isLanding(code) || typeof revision !== 'number') return [];
    // The fact keeps only a part of the order: enough for the venue's decision.
    return [
      { revision, sourceEpoch: 0, cause: String(cause), order: { instrument: {}, ...detail } as unknown as Order },
    ];
  });
}

function isLanding(code: string): boolean {
  return code === 'landed' || code === 'venue_refused';
}

/** Another cancel was out at the same time, and no later fact says it came to nothing. */
function hadRivals(evidence: readonly Evidence[]): boolean {
  return evidence.findLast(({ code }) => code === 'rival' || code === 'no_rival')?.code === 'rival';
}

const personsResults: ReadonlySet<unknown> = new Set<CommandState>(['applied', 'rejected', 'not_sent', 'moot']);

function personsWord(evidence: readonly Evidence[]): { result: CommandState; afterLanding: boolean } | undefined {
  const place = evidence.findLastIndex(({ kind }) => kind === 'person');
  const result = evidence[place]?.detail['result'];
  if (!personsResults.has(result)) return undefined;
  const landing = evidence.findIndex(({ code, attemptId }) => isLanding(code) && attemptId !== undefined);
  return { result: result as CommandState, afterLanding: landing !== -1 && landing < place };
}

const rules: Readonly<Record<Exclude<RecomputedVerdict['because'], 'answer' | 'landed' | 'venue_refused'>, string>> = {
  other_identity: 'an order carries the reference of this command, but it has another account or side',
  terms_working: 'the new price or quantity is working at the venue',
  ended: 'the order ended in another way first',
  successor: 'the order ended, and another order took its place',
  reason_recorded: 'the platform had it pending, then no more, and recorded a new reason for a rejection',
  nothing_to_tell_by: 'the platform had it pending, then no more, and nothing shows whether it was granted',
  other_terms: 'the venue works on terms that are neither the old ones nor the new ones',
  canceled: 'the order is canceled',
  person: 'a person resolved it',
  refused_here: 'it was refused here, before anything was sent',
};

/**
 * The rule that gives a verdict from the facts, in one sentence for people, without a full stop
 * (docs/commands.md, "How `unknown` is resolved").
 */
export function verdictRule(
  request: CommandRequest,
  { because, state }: Pick<RecomputedVerdict, 'because' | 'state'>,
): string {
  if (because === 'answer') return answerRule(state);
  if (because === 'landed') {
    const decided = state === 'accepted' ? 'the venue has not decided yet' : 'the venue has taken it';
    return `an order that carries the reference of this command is there, and ${decided}`;
  }
  if (because !== 'venue_refused') return rules[because];
  return makesOrder(request)
    ? 'the order that carries the reference of this command was rejected, without a fill'
    : 'the platform had it pending, then no more, and the order works on as it was';
}

function answerRule(state: CommandState): string {
  if (state === 'open') return 'the attempt has no answer yet';
  if (state === 'unknown') return 'no answer says what became of it, and no fact seen since proves a result';
  return 'the answer of the platform says so, and no later fact changes it';
}
