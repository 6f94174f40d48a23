import { type Signal, signal } from '@preact/signals-core';
import { type Ports, pause } from '../../console/state/ports.ts';
import { type Answer, type Rest, sentenceOf } from '../../console/state/rest.ts';
import type { DemoDocument, FaultName } from '../break-it/shapes.ts';

interface DemoState {
  /** Undefined: not read yet. */
  readonly document: DemoDocument | undefined;
  /** Why the last button did nothing, or why the demo cannot be read now. */
  readonly note: string | undefined;
}

/**
 * A reader watches what is under way. Otherwise the page only has to notice another page's button.
 */
const busyMs = 400;
const idleMs = 2_000;

/** Asks "Break it" again and again, and does what its buttons say. */
export class DemoWatch {
  readonly state: Signal<DemoState> = signal<DemoState>({ document: undefined, note: undefined });
  private readonly ports: Ports;
  private readonly rest: Rest;
  /** Why the last button did nothing; gone with the next one. */
  private refusal: string | undefined;

  constructor(ports: Ports, rest: Rest) {
    this.ports = ports;
    this.rest = rest;
  }

  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.read(signal);
      await pause(this.ports, isBusy(this.state.peek().document) ? busyMs : idleMs, signal);
    }
  }

  async breakIt(fault: FaultName): Promise<void> {
    await this.done(this.rest.send('POST', '/console/demo/breaks', { body: { fault } }));
  }

  async prove(): Promise<void> {
    await this.done(this.rest.send('POST', '/console/demo/proofs', { body: {} }));
  }

  /** A person does this who asked the platform, and heard that it never took the order. */
  async resolveAsRejected(commandId: string): Promise<void> {
    const body = { result: 'rejected', reason: "not in the platform's ledger" };
    await this.done(this.rest.send('POST', `/v1/commands/${encodeURIComponent(commandId)}/resolution`, { body }));
  }

  private async done(request: Promise<Answer<unknown>>): Promise<void> {
    const answer = await request;
    this.refusal = answer.kind === 'ok' ? undefined : wordsOf(answer);
    await this.read();
  }

  private async read(signal?: AbortSignal): Promise<void> {
    const answer = await this.rest.get<DemoDocument>('/console/demo', {}, signal);
    if (signal?.aborted === true) return;
    const { document } = this.state.peek();
    if (answer.kind === 'ok') this.state.value = { document: answer.body, note: this.refusal };
    else this.state.value = { document, note: wordsOf(answer) };
  }
}

/** One fault or one comparison at a time. */
export function isBusy(document: DemoDocument | undefined): boolean {
  if (document === undefined) return false;
  return document.proof.state === 'running' || document.incidents.some(({ state }) => state === 'under_way');
}

/** Its own sentence if it has one. */
function wordsOf(answer: Exclude<Answer<unknown>, { kind: 'ok' }>): string {
  return answer.kind === 'problem' && answer.code.startsWith('DEMO_') ? answer.detail : sentenceOf(answer);
}
