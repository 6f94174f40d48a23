import type { OrderStatus, TerminalStatus } from './order.ts';

/** Which terminal status is shown when several were seen (docs/settling.md, "Account orders"): the first of these. */
export const terminalPrecedence = [
  'filled',
  'replaced',
  'canceled',
  'expired',
  'rejected',
] as const satisfies readonly TerminalStatus[];

/** Nothing can follow it but a correction. `done_for_day` and `suspended` orders may work again; `unknown` says nothing. */
export function isTerminal(status: OrderStatus): status is TerminalStatus {
  return statusRanks[status] === terminalRank;
}

const terminalRank = 6;

/** Decides between two views of one order that agree on cumQty and updatedAt: how far along its life each of them is. */
const statusRanks: Readonly<Record<OrderStatus, number>> = {
  unknown: 0,
  pending_new: 1,
  new: 2,
  done_for_day: 3,
  suspended: 4,
  partially_filled: 5,
  filled: terminalRank,
  replaced: terminalRank,
  canceled: terminalRank,
  expired: terminalRank,
  rejected: terminalRank,
};

export function statusRank(status: OrderStatus): number {
  return statusRanks[status];
}
