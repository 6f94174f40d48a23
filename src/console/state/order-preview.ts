import { signal } from '@preact/signals-core';
import type { PreviewAnswer } from '../../contract/preview-answer.ts';
import { pause } from './ports.ts';
import { type Answer, type Problem, type RestDeps, sentenceOf } from './rest.ts';

type Faults = Problem['faults'];

/** A place or a replace as it is filled in now. */
export interface Question {
  readonly path: string;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** False: not all is filled in, and the quotes alone are of use. */
  readonly isWhole: boolean;
  /** The body's faults by field of the screen. `why`: those without a field. */
  readonly faultsIn?: (given: Faults) => {
    readonly faults: ReadonlyMap<string, string>;
    readonly why: string | undefined;
  };
}

export interface PreviewState {
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
  /** By the field of the screen. */
  readonly faults?: ReadonlyMap<string, string>;
}

/** A person who types on does not ask for each letter. */
const restMs = 400;
/** Quotes move while a person looks. */
const againMs = 5_000;

/**
 * The service's word on a place or a replace before it is sent: quotes, value, limits, refusals.
 * It asks for previews alone, which send nothing.
 */
export class OrderPreview {
  readonly state = signal<PreviewState>({ isOld: false });
  private asking = new AbortController();
  private readonly deps: RestDeps;

  constructor(deps: RestDeps) {
    this.deps = deps;
  }

  /**
   * Goes on asking until the next call or `close`; an answer about an earlier question is dropped.
   * Undefined: there is nothing to ask yet. Never rejects.
   */
  async ask(question: Question | undefined): Promise<void> {
    this.close();
    const { signal } = this.asking;
    this.state.value = question === undefined ? { isOld: false } : { ...this.state.peek(), isOld: true };
    if (question === undefined) return;
    const { path, body, headers = {} } = question;
    await pause(this.deps.ports, restMs, signal);
    while (!signal.aborted) {
      const answer = await this.deps.rest.send<PreviewAnswer>('POST', path, { body, headers });
      if (signal.aborted) return;
      this.state.value = this.after(answer, question);
      // The fields themselves are at fault: only other fields have another answer.
      if (answer.kind === 'problem' && answer.faults.length > 0) return;
      await pause(this.deps.ports, againMs, signal);
      await new Promise<void>((resolve) => this.deps.ports.page.whenSeen(resolve));
    }
  }

  /** Nothing is asked any more. */
  close(): void {
    this.asking.abort();
    this.asking = new AbortController();
  }

  private after(answer: Answer<PreviewAnswer>, { isWhole, faultsIn = allInWords }: Question): PreviewState {
    if (answer.kind === 'ok')
      return { said: answer.body, isWhole, saidAtMs: this.deps.ports.monotonicMs(), isOld: false };
    const given = answer.kind === 'problem' ? answer.faults : [];
    if (given.length === 0) return { ...this.state.peek(), isOld: true, note: sentenceOf(answer) };
    // Of words that the reader has not chosen, there is nothing to say.
    if (!isWhole) return { isOld: false };
    const { faults, why } = faultsIn(given);
    return { isOld: false, faults, note: why === undefined ? 'Look at the fields that are marked.' : `${why}.` };
  }
}

function allInWords(given: Faults) {
  const why = given.map(({ path, message }) => `${path} ${message}`.trim()).join('; ');
  return { faults: new Map<string, string>(), why };
}
