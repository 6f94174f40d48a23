import type { Head, Reduction, UnreadableHead } from './head.ts';
import { compareInstants } from './instant.ts';
import { byJoin } from './join-account.ts';
import type { Observation, ReductionRules } from './observation.ts';
import type { Order, OrderView, OwnFields } from './order.ts';
import { composeOrder } from './order-code.ts';
import {
  asAnotherOrder,
  beginNext,
  changedFields,
  contradictedFields,
  deriveFill,
  firstSeen,
  isAnotherOrder,
  ownFields,
  ownOfNext,
} from './order-fields.ts';
import { present } from './present.ts';
import { traits } from './streams.ts';
import { compareText, contradictedIdentity, predictionContent } from './view-content.ts';

/** The part of a prediction order's head the order does not show. */
interface PredictionMemory {
  /**
   * `updatedAt` of the row that opened the present source epoch, or this order under an id that was
   * given again; absent where nothing came before.
   */
  readonly openedAt?: string;
  /** See `AccountMemory`. */
  readonly incarnation?: number | undefined;
  readonly former?: string | undefined;
  readonly inQuestion?: true;
}

/**
 * Prediction orders (docs/merging.md): the highest (source epoch, version) stays, and everything
 * at or below it is ignored. An observation without a version is below every versioned one, in any
 * epoch. An unversioned reply must not open an epoch, or the complete list read before it would be
 * refused.
 */
const byVersion: ReductionRules = {
  first: (observation, own) => accept(undefined, observation, own),
  next: nextOrder,
  goOn: reducePrediction,
};

function reducePrediction(head: Head, observation: Observation): Reduction {
  const held = head.sourceVersion;
  const { sourceVersion } = observation;
  const heldEpoch = head.order.sourceEpoch ?? 0;
  const { openedAt } = head.join as PredictionMemory;
  const isBefore = openedAt !== undefined && compareInstants(observation.view.updatedAt, openedAt) < 0;
  if (isBefore && observation.sourceEpoch === heldEpoch) return { result: 'stale' };
  if (sourceVersion === undefined)
    return held === undefined ? joinUnversioned(head, observation) : belowVersioned(head, observation);
  if (held === undefined) return accept(head, observation, ownFields(head.order));

  if (observation.sourceEpoch !== heldEpoch) {
    return observation.sourceEpoch > heldEpoch ? accept(head, observation, ownFields(head.order)) : { result: 'stale' };
  }
  if (sourceVersion > held) return accept(head, observation, ownFields(head.order));
  return sourceVersion === held ? sameVersion(head, observation) : { result: 'stale' };
}

/**
 * A version names one content. If the sources disagree on anything, neither can be preferred: a
 * person looks, the state stays.
 */
function sameVersion(head: Head, observation: Observation): Reduction {
  const theirs = composeOrder(observation.view, head.order);
  const contradicted = contradictedFields(head.order, theirs);
  if (contradicted.length === 0) return { result: 'duplicate' };
  const detail = contradicted
    .map((field) => `${field} ${excerpt(head.order, field)} against ${excerpt(theirs, field)}`)
    .join(', ');
  return {
    result: 'conflict',
    reason: 'same_version_other_content',
    detail: `version ${observation.sourceVersion}: ${detail}`,
  };
}

/**
 * Evidence for resolving a command, never state. If it is newer than our state and shows another,
 * the stream still has to bring its version. A person looks where it does not: by reads alone
 * nothing orders the two.
 */
function belowVersioned(head: Head, observation: Observation): Reduction {
  const { view, overrules } = observation;
  const later = compareInstants(view.updatedAt, head.order.updatedAt);
  if (later < 0) return { result: 'stale' };
  const theirs = composeOrder(view, head.order);
  const fields = contradictedFields(head.order, theirs);
  if (later === 0) return { result: fields.length === 0 ? 'duplicate' : 'stale' };
  const contradicted = fields.filter((field) => field !== 'updatedAt');
  if (contradicted.length === 0) return { result: 'stale' };
  if (overrules !== head.revision) return { result: 'stale', doubt: 'late' };
  return {
    result: 'conflict',
    reason: 'newer_without_version',
    detail: `the platform shows ${contradicted.map((field) => `${field} ${excerpt(theirs, field)}`).join(', ')} since ${view.updatedAt}, and the stream brought no version above ${head.sourceVersion}`,
  };
}

/**
 * Before the first version is known, the newest reply stays. Between two at one instant the greater
 * content stays, so arrival order can't matter.
 */
function joinUnversioned(head: Head, observation: Observation): Reduction {
  const { view } = observation;
  const newer =
    observation.sourceEpoch - (head.order.sourceEpoch ?? 0) ||
    compareInstants(view.updatedAt, head.order.updatedAt) ||
    compareText(predictionContent(view), predictionContent(head.order));
  if (newer > 0) return accept(head, observation, ownFields(head.order));
  return { result: newer === 0 ? 'duplicate' : 'stale' };
}

function accept(head: Head | undefined, observation: Observation, own: OwnFields): Reduction {
  const { view, sourceVersion, sourceEpoch } = observation;
  const order = composeOrder(view, inEpoch(own, sourceEpoch));
  const revision = (head?.revision ?? 0) + 1;
  const join = memory(head, observation);
  const next: Head = sourceVersion === undefined ? { order, revision, join } : { order, revision, sourceVersion, join };
  const changed = changedFields(head?.order, order);
  const fill = deriveFill(head?.order, order, mayMergeFills(head, observation));
  return fill === undefined
    ? { result: 'applied', head: next, changed }
    : { result: 'applied', head: next, changed, fill };
}

/** Its versions have nothing to do with those of the order before, whose late views are refused. */
function nextOrder(head: Head, observation: Observation, own: OwnFields): Reduction {
  const { view, sourceVersion, sourceEpoch } = observation;
  const order = composeOrder(view, inEpoch(ownOfNext(head, own), sourceEpoch));
  const former = head.order.commandId;
  const join: PredictionMemory = { openedAt: view.updatedAt, incarnation: order.incarnation, former };
  return beginNext(head, order, { ...join }, sourceVersion);
}

function inEpoch(own: OwnFields, sourceEpoch: number): OwnFields {
  if ((own.sourceEpoch ?? 0) === sourceEpoch) return own;
  const { sourceEpoch: _left, ...rest } = own;
  return sourceEpoch === 0 ? rest : { ...rest, sourceEpoch };
}

function memory(head: Head | undefined, { sourceEpoch, sourceVersion, view }: Observation): Head['join'] {
  const { openedAt, incarnation, former } = (head?.join ?? nothing) as PredictionMemory;
  const goesOn = (head?.order.sourceEpoch ?? 0) === sourceEpoch && openedAt !== undefined;
  const begins = !goesOn && sourceEpoch > 0 && sourceVersion !== undefined;
  const from = begins ? view.updatedAt : goesOn ? openedAt : undefined;
  return from === undefined ? nothing : { openedAt: from, ...(incarnation !== undefined && { incarnation, former }) };
}

const nothing: Head['join'] = Object.freeze({});

/**
 * A version rises with every change, so one step on the stream is one fill at most. Any other
 * change may hide several.
 */
function mayMergeFills(head: Head | undefined, observation: Observation): boolean {
  if (observation.cause !== 'stream' || head?.sourceVersion === undefined || observation.sourceVersion === undefined)
    return true;
  return (
    observation.sourceVersion !== head.sourceVersion + 1n || observation.sourceEpoch !== (head.order.sourceEpoch ?? 0)
  );
}

function excerpt(order: Order, field: string): string {
  return JSON.stringify(order[field as keyof Order] ?? null).slice(0, 80);
}

/**
 * How an observation changes our state of its order (`head` undefined: nothing yet). Pure, and
 * never throws for a well-typed observation.
 *
 * Observations may arrive in any order, and any number of times: the resulting order is the same.
 * There are exceptions, each alarmed or recorded: another content at the same version, another
 * account (the first one stays), and corrections (they undo). Nor does this promise cover `extra`
 * and the fields only one of an account order's sources sends: they are only carried (see
 * `account-join.ts`).
 *
 * `own`: our own fields on the order, used if this is its first revision. From then on the head
 * carries them, and only `reduceOwned` changes them.
 */
export function reduce(head: Head | undefined, observation: Observation, own: OwnFields = firstSeen): Reduction {
  const { view } = observation;
  const rules = traits[view.stream].reduction === 'versioned' ? byVersion : byJoin;
  if (head === undefined) return rules.first(observation, own);
  const contradiction = contradictedIdentity(head.order, view);
  if (contradiction !== undefined) return identityChanged(contradiction);
  const another = asAnotherOrder(head, observation);
  if (another !== undefined) return another === 'begins' ? rules.next(head, observation, own) : another;
  const reduction = rules.goOn(head, observation);
  return head.join['inQuestion'] === true ? answered(head, observation, reduction) : reduction;
}

function identityChanged(field: string): Extract<Reduction, { result: 'conflict' }> {
  return { result: 'conflict', reason: 'identity_changed', detail: `${field} differs from the one first seen` };
}

/** REST shows our order: its id is not in question any more. */
function answered(head: Head, { cause }: Observation, reduction: Reduction): Reduction {
  if (reduction.result === 'conflict' || reduction.head !== undefined || cause === 'stream') return reduction;
  const { inQuestion: _answered, ...join } = head.join;
  return { ...reduction, head: { ...head, join } };
}

/**
 * Like `reduce`, for an observation that brings the order's reference for the first time, so its
 * owner is known only now: `own`.
 *
 * This is always a change. An observation that repeats our state, or is older, makes a revision
 * with the state as it is, the reference and `own`. An observation that contradicts our state binds
 * nothing, nor does a late event of the order before under the id.
 */
export function reduceOwned(head: Head, observation: Observation, own: OwnFields): Reduction {
  if (observation.cause === 'stream' && own.commandId !== undefined && own.commandId === head.join['former'])
    return { result: 'stale' };
  const plain = reduce(head, observation, own);
  // The order before is not theirs: only the next one may be.
  if (plain.result === 'conflict' || isAnotherOrder(head, observation.view)) return plain;
  const base = plain.head ?? head;
  const order = composeOrder(withReference(base.order, observation.view), { ...base.order, ...own });
  const changed = changedFields(head.order, order);
  if (plain.result === 'applied') return { ...plain, head: { ...base, order }, changed };
  if (changed.length === 0) return plain;
  return { result: 'applied', head: { ...base, order, revision: head.revision + 1 }, changed };
}

/** Where views are joined, the references are joined already: they belong to no single view. */
function withReference(order: Order, { clientOrderRef }: OrderView): Order {
  if (traits[order.stream].reduction === 'join' || order.clientOrderRef !== undefined || clientOrderRef === undefined)
    return order;
  return { ...order, clientOrderRef };
}

/**
 * Like `reduce`, upon an unreadable head. A read from REST shows the whole order and begins its
 * state again: above the stored revision, never below the stored version. It is a correction
 * without a fill, since the fills published before are not known. Fields only a stream or an
 * earlier view had shown are gone. Any other observation is kept for a person, and REST is asked.
 */
export function reduceUnreadable(
  stored: UnreadableHead,
  observation: Observation,
  own: OwnFields = firstSeen,
): Extract<Reduction, { result: 'applied' | 'conflict' }> {
  const { view, cause, sourceVersion, sourceEpoch } = observation;
  if (view.accountId !== stored.accountId) return identityChanged('accountId');
  // Only the state knew the stored version's epoch.
  const isBelow = sourceEpoch === 0 && sourceVersion !== undefined && sourceVersion < (stored.sourceVersion ?? 0n);
  const fresh = cause === 'stream' || isBelow ? undefined : reduce(undefined, observation, own);
  if (fresh?.result !== 'applied')
    return {
      result: 'conflict',
      reason: 'state_unreadable',
      detail: `the stored state can't be read: ${stored.fault}`,
    };
  const { fill: _unknown, ...rest } = fresh;
  const version = sourceVersion ?? stored.sourceVersion;
  const head = {
    ...fresh.head,
    revision: stored.revision + 1,
    ...present({ sourceVersion: version }),
  };
  return { ...rest, head, correction: true, doubt: 'contradicted' };
}
