import { pause } from '../ports.ts';
import type { Answer, Rest, RestDeps } from '../rest.ts';

type Request = Parameters<Rest['send']>;

/** Pauses before the second and the third try. */
const waitsMs = [500, 2_000] as const;

/**
 * One action under one idempotency key, for as long as it is wanted: the service does it once,
 * however often it is asked. So a second click joins the request under way, and a request without
 * an answer is sent again.
 */
export class KeyedSend<T> {
  readonly key: string;
  private readonly deps: RestDeps;
  private underWay: Promise<Answer<T>> | undefined;
  /** A try had no answer, and may have done it. */
  private unanswered = false;
  private readonly signOuts: number;

  constructor(deps: RestDeps) {
    this.deps = deps;
    this.signOuts = deps.rest.signOuts;
    this.key = `console-${deps.ports.newId()}`;
  }

  /**
   * Never rejects. `away`: it may have been done; the same call later finds out. After a sign-out
   * nothing more is sent: the next token may be another reader's.
   */
  send(...request: Request): Promise<Answer<T>> {
    this.underWay ??= this.tryAll(request).finally(() => {
      this.underWay = undefined;
    });
    return this.underWay;
  }

  private async tryAll(request: Request): Promise<Answer<T>> {
    let answer = await this.tryOnce(request);
    for (const waitMs of waitsMs) {
      if (answer.kind !== 'away') return answer;
      await pause(this.deps.ports, waitMs, new AbortController().signal);
      answer = await this.tryOnce(request);
    }
    return answer;
  }

  private async tryOnce([method, path, options]: Request): Promise<Answer<T>> {
    if (this.deps.rest.signOuts !== this.signOuts) return { kind: 'away' };
    const answer = await this.deps.rest.send<T>(method, path, {
      ...options,
      headers: { ...options?.headers, 'idempotency-key': this.key },
    });
    if (answer.kind === 'problem') return this.unanswered && isOfThisTry(answer.status) ? { kind: 'away' } : answer;
    this.unanswered = answer.kind === 'away';
    return answer;
  }
}

/** It speaks of its own try alone, and one before may have arrived. */
function isOfThisTry(status: number): boolean {
  return status >= 500 || [401, 408, 429].includes(status);
}
