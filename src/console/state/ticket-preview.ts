import { type Signal, signal } from '@preact/signals-core';
import type { PreviewAnswer } from '../../contract/preview-answer.ts';
import { forQuotes, isEmpty, isWhole, requestOf, type TicketFields } from './commands/ticket-body.ts';
import { type Ports, pause } from './ports.ts';
import { type Answer, type Rest, sentenceOf } from './rest.ts';

interface PreviewState {
  /** The service's last word, on these fields or on the ones before. */
  readonly said?: PreviewAnswer;
  /** False: the fields were not all filled in, and it has the quotes alone. */
  readonly isWhole?: boolean;
  /** When it said that, by the monotonic clock. */
  readonly saidAtMs?: number;
  /** `said` is about fields that were changed since. */
  readonly isOld: boolean;
  /** Why there is no newer answer, for people. */
  readonly note?: string;
}

/** A person who types on does not ask for each letter. */
const restMs = 400;
/** Quotes move while a person looks at the ticket. */
const againMs = 5_000;

/**
 * The service's word on a ticket before it is sent: quotes, value, limits, refusals. It asks for
 * previews alone, which place nothing.
 */
export class TicketPreview {
  readonly state: Signal<PreviewState> = signal<PreviewState>({ isOld: false });
  private asking = new AbortController();
  private readonly ports: Ports;
  private readonly rest: Rest;

  constructor({ ports, rest }: { readonly ports: Ports; readonly rest: Rest }) {
    this.ports = ports;
    this.rest = rest;
  }

  /**
   * The fields as they are now. Goes on asking until the next call or `close`; an answer about
   * earlier fields is dropped. Never rejects.
   */
  async ask(fields: TicketFields): Promise<void> {
    this.close();
    const { signal } = this.asking;
    const whole = isWhole(fields);
    // A prediction market has no quotes.
    if (!whole && (fields.kind === 'prediction' || ['accountId', 'symbol'].some((name) => isEmpty(fields, name)))) {
      this.state.value = { isOld: false };
      return;
    }
    this.state.value = { ...this.state.peek(), isOld: true };
    const { path, body } = requestOf(whole ? fields : forQuotes(fields));
    await pause(this.ports, restMs, signal);
    while (!signal.aborted) {
      const answer = await this.rest.send<PreviewAnswer>('POST', `${path}/preview`, { body });
      if (signal.aborted) return;
      this.state.value = this.after(answer, whole);
      // The fields themselves are at fault: only other fields have another answer.
      if (answer.kind === 'problem' && answer.faults.length > 0) return;
      await pause(this.ports, againMs, signal);
      await new Promise<void>((resolve) => this.ports.page.whenSeen(resolve));
    }
  }

  /** Nothing is asked any more. */
  close(): void {
    this.asking.abort();
    this.asking = new AbortController();
  }

  private after(answer: Answer<PreviewAnswer>, isWhole: boolean): PreviewState {
    if (answer.kind === 'ok') return { said: answer.body, isWhole, saidAtMs: this.ports.monotonicMs(), isOld: false };
    const faults = answer.kind === 'problem' ? answer.faults : [];
    if (faults.length === 0) return { ...this.state.peek(), isOld: true, note: sentenceOf(answer) };
    // Of words that the reader has not chosen, there is nothing to say.
    if (!isWhole) return { isOld: false };
    return { isOld: false, note: `${faults.map(({ path, message }) => `${path} ${message}`).join('; ')}.` };
  }
}
