import { signal } from '@preact/signals-core';
import type { StatusDocument } from '../../contract/status-answer.ts';
import { pause } from './ports.ts';
import { type Answer, type RestDeps, sentenceOf } from './rest.ts';

/** One reason not to trust the page as it is. */
export interface Doubt {
  readonly name: string;
  readonly detail: string;
  readonly since?: string | null;
  readonly runbook?: string;
}

export interface StatusState {
  /** Undefined: not read yet, or this token may not read it. */
  readonly status: StatusDocument | undefined;
  /** Undefined: not asked yet. */
  readonly doubts: readonly Doubt[] | undefined;
  /** The service itself has looked at everything it knows; without that, no doubt is no proof. */
  readonly complete: boolean;
}

const everyMs = 2_000;
/** With thousands of accounts the answer is long, and many consoles ask for it. */
const share = 0.1;
const unknown: StatusState = { status: undefined, doubts: undefined, complete: false };

/** The state of the service, asked for again and again; it answers from memory. */
export class StatusWatch {
  readonly state = signal<StatusState>(unknown);
  private readonly deps: RestDeps;

  constructor(deps: RestDeps) {
    this.deps = deps;
  }

  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const askedMs = this.deps.ports.monotonicMs();
      const answer = await this.deps.rest.get<StatusDocument>('/v1/status', {}, signal);
      const tookMs = this.deps.ports.monotonicMs() - askedMs;
      if (!signal.aborted) this.state.value = stateOf(answer, this.state.peek().status);
      await pause(this.deps.ports, Math.max(everyMs, tookMs / share), signal);
    }
  }

  /** Nothing seen with the old token stays. */
  forget(): void {
    this.state.value = unknown;
  }
}

function stateOf(answer: Answer<StatusDocument>, last: StatusDocument | undefined): StatusState {
  if (answer.kind === 'ok') {
    return { status: answer.body, doubts: answer.body.trust.doubts, complete: true };
  }
  // This token may not read it: the page says no more than the stream shows.
  if (answer.kind === 'problem' && answer.status === 403) return { status: undefined, doubts: [], complete: false };
  return { status: last, doubts: [{ name: 'service_silent', detail: sentenceOf(answer) }], complete: false };
}
