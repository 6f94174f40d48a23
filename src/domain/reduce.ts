import { firstSeen, type OwnFields } from './compose-order.ts';
import type { Head, Reduction } from './head.ts';
import { joinAccount } from './join-account.ts';
import type { Observation } from './observation.ts';
import { reducePrediction } from './reduce-prediction.ts';

/**
 * What an observation does to what we hold of its order (`head` undefined: nothing yet). Pure, and never throws for a well-typed observation.
 *
 * The order in which observations arrive, and how often each does, never changes the order that comes out, with these exceptions, each of them alarmed
 * or recorded: another content at the same version, another identity (the first one stays), and corrections (they undo). `extra`, and
 * what only one of an account order's sources sends, are carried besides and outside of that promise (see `account-join.ts`).
 *
 * `own`: what only we know of the order, should this be its first revision. From then on the head carries it, and nothing changes it but `reduceOwned`.
 */
export function reduce(head: Head | undefined, observation: Observation, own: OwnFields = firstSeen): Reduction {
  return observation.view.stream === 'prediction'
    ? reducePrediction(head, observation, own)
    : joinAccount(head, observation, own);
}
