import { type Signal, signal } from '@preact/signals-core';
import type { CommandAnswer } from '../../../contract/rest-answers.ts';
import { type Answer, type Page, type Rest, type RestDeps, sentenceOf } from '../rest.ts';
import { KeyedSend } from './keyed-send.ts';
import { emptyFields, faultsIn, firstWords, requestOf, type TicketFields, type TicketKind } from './ticket-body.ts';

/** States: open → sending → sent; sending → refused → sending …; sending → away → sending. */
type Progress =
  | { readonly kind: 'open' }
  | { readonly kind: 'sending' }
  /** Nothing of this ticket is at the service. `faults` by field, `why` for the rest. */
  | { readonly kind: 'refused'; readonly why: string | undefined; readonly faults: ReadonlyMap<string, string> }
  /**
   * No answer: it may have been sent. The ticket stays as it is,
   * and only the same request may follow.
   */
  | { readonly kind: 'away' }
  | { readonly kind: 'sent'; readonly commandId: string };

/**
 * One order on its way to the service. It has one idempotency key from its first to its last
 * moment, so at most one command can come from it, however often it is sent and whatever is cut.
 */
export class Ticket {
  readonly fields: Signal<TicketFields>;
  readonly progress = signal<Progress>({ kind: 'open' });
  private readonly rest: Rest;
  private readonly keyed: KeyedSend<CommandAnswer>;

  constructor(deps: RestDeps, prefilled: Partial<TicketFields> = {}) {
    this.rest = deps.rest;
    this.keyed = new KeyedSend(deps);
    this.fields = signal<TicketFields>({ ...emptyFields(prefilled.kind), ...prefilled });
  }

  get key(): string {
    return this.keyed.key;
  }

  /** Changes what was typed; does nothing while the ticket is under way, or may be. */
  set(over: Partial<TicketFields>): void {
    if (!this.mayChange()) return;
    this.fields.value = { ...this.fields.peek(), ...over };
    this.progress.value = { kind: 'open' };
  }

  /** Another kind has other words; what was typed stays. */
  setKind(kind: TicketKind): void {
    this.set(firstWords(kind));
  }

  mayChange(): boolean {
    const { kind } = this.progress.peek();
    return kind === 'open' || kind === 'refused';
  }

  async send(): Promise<void> {
    const { kind } = this.progress.peek();
    if (kind === 'sending' || kind === 'sent') return;
    this.progress.value = { kind: 'sending' };
    const { path, body } = requestOf(this.fields.peek());
    this.progress.value = await this.after(await this.keyed.send('POST', path, { body }));
  }

  private async after(answer: Answer<CommandAnswer>): Promise<Progress> {
    if (answer.kind === 'ok') return { kind: 'sent', commandId: answer.body.commandId };
    if (answer.kind === 'away') return { kind: 'away' };
    // An earlier request from this ticket, with other terms, arrived late: there is a command, and
    // it is the only one.
    if (answer.code === 'IDEMPOTENCY_KEY_REUSED') {
      const earlier = await this.findCommand();
      if (earlier !== undefined) return earlier;
    }
    const { faults, why } = faultsIn(answer.faults, this.fields.peek());
    return { kind: 'refused', why: answer.faults.length === 0 ? sentenceOf(answer) : why, faults };
  }

  private async findCommand(): Promise<Progress | undefined> {
    const query = { idempotencyKey: this.key };
    const answer = await this.rest.get<Page<CommandAnswer>>('/v1/commands', query);
    // There is one, whatever became of it.
    if (answer.kind !== 'ok') return { kind: 'away' };
    const commandId = answer.body.items[0]?.commandId;
    return commandId === undefined ? undefined : { kind: 'sent', commandId };
  }
}

const kinds: readonly TicketKind[] = ['equity', 'option', 'prediction'];

/** The first fields for a new ticket, by its address; unknown words are passed over. */
export function prefilledBy(query: URLSearchParams): Partial<TicketFields> {
  const kind = kinds.find((each) => each === query.get('kind'));
  const texts = (['accountId', 'symbol', 'quantity', 'supersedes'] as const).flatMap((name) => {
    const value = query.get(name)?.trim().slice(0, 128);
    return value === undefined || value === '' ? [] : [[name, value] as const];
  });
  return { ...(kind !== undefined && { kind }), ...Object.fromEntries(texts) };
}
