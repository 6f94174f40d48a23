import { type Answer, anotherLeads, type Declined, type Done, isDeclined, isOfThisProcess } from './answer.ts';
import type { CancelAll, TimersSet } from './commands.ts';

// One request for accounts of several shards of this process. No two shards have an account in
// common, so the answers are put side by side.

/** One shard's answer, for its accounts among those asked for. */
interface ShardAnswer<Result> {
  readonly accountIds: readonly string[];
  readonly result: Answer<Result>;
}

export function cancelAllOfShards(answers: readonly ShardAnswer<CancelAll>[]): Answer<CancelAll> {
  const done = answers.flatMap(({ result }) => (isDeclined(result) ? [] : [result]));
  if (done.length === 0) return refusalOf(answers);
  return {
    kind: 'done',
    replayed: done.every(({ replayed }) => replayed),
    inForce: done.some(({ inForce }) => inForce),
    open: answers.some(({ result }) => (isDeclined(result) ? !isOfThisProcess(result.code) : result.open)),
    orders: done.flatMap(({ orders }) => orders),
    places: done.flatMap(({ places }) => places),
    unread: done.flatMap(({ unread }) => unread),
    declined: declinedOf(answers),
  };
}

export function cancelAfterOfShards(answers: readonly ShardAnswer<TimersSet>[]): Answer<TimersSet> {
  const done = answers.flatMap(({ result }) => (isDeclined(result) ? [] : [result]));
  if (done.length === 0) return refusalOf(answers);
  // Each shard has set its timers by an answer of its own: the first that runs out counts.
  const fireMs = done.flatMap(({ firesAtMs }) => firesAtMs ?? []);
  return {
    kind: 'done',
    accountIds: done.flatMap(({ accountIds }) => accountIds),
    declined: declinedOf(answers),
    ...(fireMs.length > 0 && { firesAtMs: Math.min(...fireMs) }),
  };
}

/** With the accounts of shards that declined. */
function declinedOf<Of>(answers: readonly ShardAnswer<Done<{ declined: readonly Of[] }>>[]) {
  return answers.flatMap(({ accountIds, result }): (Of | TimersSet['declined'][number])[] => {
    if (!isDeclined(result)) return [...result.declined];
    const { kind: _kind, ...why } = result;
    return accountIds.map((accountId) => ({ accountId, ...why }));
  });
}

/** All declined. A reason about the request goes first: another process would not repeat it. */
function refusalOf(answers: readonly ShardAnswer<unknown>[]): Declined {
  const refusals = answers.map(({ result }) => result as Declined);
  return refusals.find(({ code }) => !isOfThisProcess(code)) ?? refusals[0] ?? anotherLeads;
}
