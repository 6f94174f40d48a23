import { type CommandRequest, makesOrder } from './command.ts';
import type { RecomputedVerdict } from './recompute-verdict.ts';

type Basis = RecomputedVerdict['because'];

const rules: Readonly<Record<Exclude<Basis, 'answer' | 'landed' | 'venue_refused'>, string>> = {
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

function answerRule(state: RecomputedVerdict['state']): string {
  if (state === 'open') return 'the attempt has no answer yet';
  if (state === 'unknown') return 'no answer says what became of it, and no fact seen since proves a result';
  return 'the answer of the platform says so, and no later fact changes it';
}
