import type { AccountJoin } from './account-join.ts';
import { pickRegisters } from './account-registers.ts';
import { composeOrder, type OwnFields } from './compose-order.ts';
import { compareDecimals } from './decimal.ts';
import type { Order, OrderView, TerminalStatus } from './order.ts';
import { terminalPrecedence } from './terminal.ts';

/** The account order that a join shows: a function of the join alone, and of what only we know. */
export function presentAccount(join: AccountJoin, own: OwnFields): Order {
  const { winner, terminals } = join;
  const terminal = terminalPrecedence.find((status) => terminals[status] !== undefined);
  const { avgPrice: _own, ...rest } = winner;
  const price = averagePrice(join);
  const view: OrderView = {
    ...rest,
    instrument: join.instrument,
    ...pickRegisters(join.registers),
    ...(price === undefined ? undefined : { avgPrice: price }),
    ...(terminal === undefined ? undefined : ended(terminal, terminals[terminal] ?? winner.statusRaw)),
  };
  const conflict = terminal === undefined ? undefined : contradiction(join, terminal);
  return composeOrder(view, conflict === undefined ? own : { ...own, conflict });
}

/** An order that is over works nothing and waits for nothing, whatever the winning view still said of it. */
function ended(status: TerminalStatus, statusRaw: string): Partial<OrderView> {
  return { status, statusRaw, leavesQty: '0', pendingAction: 'none' };
}

/** An average over fewer fills than the order has would be a wrong price: then none is shown. */
function averagePrice({ priced, winner }: AccountJoin): string | undefined {
  return priced !== undefined && compareDecimals(priced.cumQty, winner.cumQty) === 0 ? priced.avgPrice : undefined;
}

/** Why a person, or one read of the order, should look. Clears by itself when a later view resolves it; two different ends never do. */
function contradiction({ winner, terminals, terminalCumQty }: AccountJoin, shown: TerminalStatus): string | undefined {
  const reasons: string[] = [];
  const seen = terminalPrecedence.filter((status) => terminals[status] !== undefined);
  if (seen.length > 1) reasons.push(`ended more than once: ${seen.join(', ')}`);
  if (terminalCumQty !== undefined && compareDecimals(terminalCumQty, winner.cumQty) < 0) {
    reasons.push(`ended at ${terminalCumQty} filled, but ${winner.cumQty} were reported`);
  }
  if (shown === 'filled' && compareDecimals(winner.cumQty, winner.quantity) !== 0) {
    reasons.push(`filled with ${winner.cumQty} of ${winner.quantity}`);
  }
  return reasons.length === 0 ? undefined : reasons.join('; ');
}
