import { anotherLeads, type Declined } from './check-submission.ts';
import type { CancelAfterResult, CancelAllResult, ReconcileReport } from './commands.ts';

/** The answer of one desk, for its accounts among those that were asked for. */
interface PartAnswer<Result> {
  readonly accountIds: readonly string[];
  readonly result: Result;
}

type DoneCancelAll = Extract<CancelAllResult, { kind: 'done' }>;
type DoneCancelAfter = Extract<CancelAfterResult, { kind: 'done' }>;

/**
 * One answer for the accounts of several desks. The accounts of a desk that declined are named as
 * declined; where all have, their answer is the answer.
 */
export function mergeCancelAlls(parts: readonly PartAnswer<CancelAllResult>[]): CancelAllResult {
  const { done, declined, answer } = sortOut<DoneCancelAll>(parts);
  if (answer !== undefined) return answer;
  return {
    kind: 'done',
    replayed: done.every(({ replayed }) => replayed),
    inForce: done.some(({ inForce }) => inForce),
    open: declined.length > 0 || done.some(({ open }) => open),
    openHere: declined.some(({ code }) => code !== 'NOT_LEADER') || done.some(({ open }) => open),
    orders: done.flatMap(({ orders }) => orders),
    places: done.flatMap(({ places }) => places),
    unread: done.flatMap(({ unread }) => unread),
    declined: [...done.flatMap((each) => each.declined), ...declined],
  };
}

export function mergeCancelAfters(parts: readonly PartAnswer<CancelAfterResult>[]): CancelAfterResult {
  const { done, declined, answer } = sortOut<DoneCancelAfter>(parts);
  if (answer !== undefined) return answer;
  // Each desk has set its timers by an answer of its own: the first that runs out counts.
  const fireMs = done.flatMap(({ firesAtMs }) => firesAtMs ?? []);
  return {
    kind: 'done',
    accountIds: done.flatMap(({ accountIds }) => accountIds),
    declined: [...done.flatMap((each) => each.declined), ...declined],
    ...(fireMs.length > 0 && { firesAtMs: Math.min(...fireMs) }),
  };
}

export function mergeReports(reports: readonly ReconcileReport[]): ReconcileReport {
  return {
    unresolved: sum(reports.map(({ unresolved }) => unresolved)),
    probes: sum(reports.map(({ probes }) => probes)),
    settled: reports.flatMap(({ settled }) => settled),
    plan: reports.flatMap(({ plan }) => plan),
  };
}

/**
 * `answer`: none is done. A reason that concerns the request goes before `NOT_LEADER`, which
 * another process would not repeat.
 */
function sortOut<Done extends { readonly kind: 'done' }>(parts: readonly PartAnswer<Done | Declined>[]) {
  const done: Done[] = [];
  const refusals: Declined[] = [];
  const declined: (Omit<Declined, 'kind'> & { readonly accountId: string })[] = [];
  for (const { accountIds, result } of parts) {
    if (result.kind === 'done') done.push(result);
    else {
      const { kind: _kind, ...why } = result;
      refusals.push(result);
      declined.push(...accountIds.map((accountId) => ({ accountId, ...why })));
    }
  }
  const refusal = refusals.find(({ code }) => code !== 'NOT_LEADER') ?? refusals[0] ?? anotherLeads;
  return { done, declined, answer: done.length > 0 ? undefined : refusal };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
