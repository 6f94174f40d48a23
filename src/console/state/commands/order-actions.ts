import type { NormalisedOrder } from '../../../../types/records.d.ts';
import { cancelPath, orderPath } from '../../../contract/order-path.ts';
import { type NewTerms, replaceBodyOf, type Term, termsOf } from '../../../contract/replace-terms.ts';
import type { CommandAnswer } from '../../../contract/rest-answers.ts';
import { traits } from '../../../domain/streams.ts';
import type { ConsoleState } from '../console-state.ts';
import type { Question } from '../order-preview.ts';
import { isOpen, type ListedOrder } from '../orders/order-row.ts';
import type { Answer } from '../rest.ts';
import type { Session } from '../session.ts';
import { plainNumber } from '../text/decimal-text.ts';
import { KeyedSend } from './keyed-send.ts';

/** This reader's actions on an order now. */
export function orderActions(session: Session, { stream, order }: ListedOrder): readonly ('cancel' | 'replace')[] {
  if (!session.mayCommand()) return [];
  // What the platform makes of a cancel after the end is for it to say.
  return traits[stream].replaces !== 'no' && isOpen(order) ? ['cancel', 'replace'] : ['cancel'];
}

/** The new terms that differ from the working ones. */
export function changedTerms(order: NormalisedOrder, wanted: NewTerms): readonly (Term & { readonly to: string })[] {
  return termsOf(order).flatMap(({ name, now }) => {
    const to = plainNumber(wanted[name] ?? '');
    return to === '' || to === now ? [] : [{ name, now, to }];
  });
}

/**
 * A cancel or a replace of the order as the reader has seen it. If the order has changed since, the
 * service does nothing (412); the reader then looks at the order as it is, and decides again, under
 * the same key.
 */
export class OrderAction {
  /** The order before the reader's eyes. */
  seen: ListedOrder;
  private readonly state: ConsoleState;
  private readonly keyed: KeyedSend<CommandAnswer>;

  constructor(state: ConsoleState, seen: ListedOrder) {
    this.state = state;
    this.seen = seen;
    this.keyed = new KeyedSend(state);
  }

  cancel(): Promise<Answer<CommandAnswer>> {
    return this.keyed.send('DELETE', cancelPath(this.seen), { headers: this.matching() });
  }

  replace(wanted: NewTerms): Promise<Answer<CommandAnswer>> {
    return this.keyed.send('PATCH', orderPath(this.seen), this.replacement(wanted));
  }

  /** About a replace as it is filled in now. Undefined: nothing is changed yet. */
  questionOf(wanted: NewTerms): Question | undefined {
    if (changedTerms(this.seen.order, wanted).length === 0) return undefined;
    return { ...this.replacement(wanted), path: `${orderPath(this.seen)}/preview`, isWhole: true };
  }

  private replacement(wanted: NewTerms) {
    const terms = Object.fromEntries(changedTerms(this.seen.order, wanted).map(({ name, to }) => [name, to]));
    return { body: replaceBodyOf(this.seen, terms), headers: this.matching() };
  }

  private matching() {
    return { 'if-match': `"${this.seen.revision}"`, prefer: 'wait=3' };
  }

  /**
   * After a 412: the order as it is now becomes the seen one. Resolves with the one before;
   * undefined if it could not be read.
   */
  async lookAgain(): Promise<ListedOrder | undefined> {
    const { stream, orderId } = this.seen;
    const answer = await this.state.rest.get<ListedOrder>(`/v1/orders/${stream}/${encodeURIComponent(orderId)}`);
    if (answer.kind !== 'ok') return undefined;
    const before = this.seen;
    this.seen = answer.body;
    return before;
  }
}
