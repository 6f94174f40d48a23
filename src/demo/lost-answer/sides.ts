import { tableText } from '../../cli/io/format-text.ts';
import { plural } from '../../runtime/plural.ts';

/** One order was meant. */
interface Course {
  /** The caller gets this answer. */
  readonly told: string;
  /** Requests to place that reached the venue, by its ledger. */
  readonly sent: number;
  /** Each order's status at the venue. */
  readonly orders: readonly string[];
}

export interface Side extends Course {
  readonly who: string;
  /** In the venue's or the service's own words. */
  readonly words: string;
}

/**
 * The claims, in the order of the sides: the SDK without and with a client id, Tidemark. alpaca-py
 * sends again after a 504, and two answers are lost.
 */
const claims: readonly Course[] = [
  { told: 'placed', sent: 3, orders: ['new', 'new', 'new'] },
  { told: 'refused', sent: 3, orders: ['new'] },
  { told: 'unknown, then applied', sent: 1, orders: ['new'] },
];

/** A sentence for each claim that does not hold. */
export function brokenClaims(sides: readonly Side[]): string[] {
  return sides.flatMap((side, i) => {
    const claim = claims[i] ?? side;
    const compared = [
      ['told', side.told, claim.told],
      ['sent', side.sent, claim.sent],
      ['at the venue', ordersText(side), ordersText(claim)],
    ] as const;
    return compared.flatMap(([what, is, due]) =>
      is === due ? [] : [`${side.who}: ${what} ${is}, claimed was ${due}`],
    );
  });
}

export function sidesTable(sides: readonly Side[]): string {
  return tableText(sides, {
    'ONE ORDER BY': 'who',
    SENT: 'sent',
    'AT THE VENUE': ordersText,
    TOLD: ({ told, words }) => `${told}: ${words}`,
  });
}

function ordersText({ orders }: Pick<Course, 'orders'>): string {
  return orders.length === 0 ? 'no order' : `${plural(orders.length, 'order')} (${[...new Set(orders)].join(', ')})`;
}
