import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { TurnBatch } from '../../../src/store/orders/turn-batch.ts';

/** Batches that are answered by hand. */
function byHand(
  options: { readonly maxInFlight?: number; readonly maxBatch?: number; readonly maxWaiting?: number } = {},
) {
  const batches: {
    readonly queries: readonly number[];
    readonly answer: () => void;
    readonly fail: (error: Error) => void;
  }[] = [];
  const batch = new TurnBatch<number, string>(
    {
      clock: systemClock,
      answer: (queries) =>
        new Promise((resolve, reject) => {
          batches.push({ queries, answer: () => resolve(queries.map((query) => `answer ${query}`)), fail: reject });
        }),
    },
    { maxInFlight: 1, maxBatch: 10, maxWaiting: 100, ...options },
  );
  return { batch, batches, turn: async () => await systemClock.turn().then(() => systemClock.turn()) };
}

describe('questions of one turn', () => {
  it('are one batch, answered each with its own', async () => {
    const { batch, batches, turn } = byHand();
    const answers = Promise.all([1, 2, 3].map((query) => batch.ask(query)));
    await turn();
    expect(batches.map(({ queries }) => queries)).toEqual([[1, 2, 3]]);
    batches[0]?.answer();
    expect(await answers).toEqual(['answer 1', 'answer 2', 'answer 3']);
  });

  it('that come while a batch is under way never join it, and are one batch after it', async () => {
    const { batch, batches, turn } = byHand();
    const first = batch.ask(1);
    await turn();
    const later = [batch.ask(2)];
    await turn();
    later.push(batch.ask(3));
    await turn();
    expect(batches).toHaveLength(1);
    batches[0]?.answer();
    await first;
    await turn();
    expect(batches[1]?.queries).toEqual([2, 3]);
    batches[1]?.answer();
    expect(await Promise.all(later)).toEqual(['answer 2', 'answer 3']);
  });

  it('beyond a batch are the next one, at once while there is room', async () => {
    const { batch, batches, turn } = byHand({ maxBatch: 2, maxInFlight: 2 });
    const answers = Promise.all([1, 2, 3, 4, 5].map((query) => batch.ask(query)));
    await turn();
    expect(batches.map(({ queries }) => queries)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    for (const { answer } of [...batches]) answer();
    await turn();
    batches[2]?.answer();
    expect(await answers).toHaveLength(5);
  });

  it('all fail with their batch, and the next ones are answered', async () => {
    const { batch, batches, turn } = byHand();
    const failing = [batch.ask(1), batch.ask(2)].map((each) => expect(each).rejects.toThrow('gone'));
    await turn();
    batches[0]?.fail(new Error('gone'));
    await Promise.all(failing);
    const answer = batch.ask(3);
    await turn();
    batches[1]?.answer();
    expect(await answer).toBe('answer 3');
  });

  it('of which too many wait are refused', async () => {
    const { batch, batches, turn } = byHand({ maxWaiting: 2 });
    const answers = Promise.all([batch.ask(1), batch.ask(2)]);
    await expect(batch.ask(3)).rejects.toMatchObject({ code: 'READS_OVERLOADED', retryable: true });
    await turn();
    batches[0]?.answer();
    expect(await answers).toHaveLength(2);
  });
});
