import type { Clock } from '../../runtime/clock.ts';

export interface TurnBatchOptions {
  /**
   * Batches being answered at once. Questions that come in the meantime wait, and become one batch.
   */
  readonly maxInFlight: number;
  /** The most questions in one batch. */
  readonly maxBatch: number;
  /** The most questions that wait; beyond it, `ask` rejects. */
  readonly maxWaiting: number;
}

interface Question<Q, A> {
  readonly query: Q;
  readonly resolve: (answer: A) => void;
  readonly reject: (error: unknown) => void;
}

/** There are more questions than can be answered. Nothing was read. */
class OverloadedError extends Error {
  readonly code = 'READS_OVERLOADED';
  readonly retryable = true;
}

/**
 * Answers all questions from one turn of the event loop together. So a hundred requests that arrive
 * at once are one query.
 *
 * Invariant: a question is answered by a read that began after it was asked. So the answer has
 * everything committed before the question, and no question joins a read already under way.
 */
export class TurnBatch<Q, A> {
  private waiting: Question<Q, A>[] = [];
  private inFlight = 0;
  private awaitsTurn = false;
  private readonly deps: { readonly clock: Clock; readonly answer: (queries: readonly Q[]) => Promise<readonly A[]> };
  private readonly options: TurnBatchOptions;

  /** `answer` gives one answer for each query, in their order, or rejects for all of them. */
  constructor(
    deps: { readonly clock: Clock; readonly answer: (queries: readonly Q[]) => Promise<readonly A[]> },
    options: TurnBatchOptions,
  ) {
    this.deps = deps;
    this.options = options;
  }

  ask(query: Q): Promise<A> {
    if (this.waiting.length >= this.options.maxWaiting) {
      return Promise.reject(new OverloadedError(`${this.waiting.length} reads are waiting already`));
    }
    return new Promise((resolve, reject) => {
      this.waiting.push({ query, resolve, reject });
      this.sendNextTurn();
    });
  }

  private sendNextTurn(): void {
    if (this.awaitsTurn || this.inFlight >= this.options.maxInFlight) return;
    this.awaitsTurn = true;
    void this.deps.clock.turn().then(() => {
      this.awaitsTurn = false;
      if (this.waiting.length > 0) void this.send();
    });
  }

  private async send(): Promise<void> {
    const batch = this.waiting.splice(0, this.options.maxBatch);
    this.inFlight += 1;
    if (this.waiting.length > 0) this.sendNextTurn();
    try {
      const answers = await this.deps.answer(batch.map(({ query }) => query));
      for (const [i, { resolve }] of batch.entries()) resolve(answers[i] as A);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      this.inFlight -= 1;
      if (this.waiting.length > 0) this.sendNextTurn();
    }
  }
}
