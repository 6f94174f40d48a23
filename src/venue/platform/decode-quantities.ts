import { compareDecimals, subtractDecimals } from '../../domain/decimal.ts';
import { isTerminal, type OrderStatus } from '../../domain/order.ts';
import type { RowReader } from '../row-reader.ts';

/**
 * The filled quantity. An order just begun, or rejected, may be shown without one; a working one
 * may have the rest instead. If it follows from neither, it is missing.
 */
export function filledOf(row: RowReader, total: string, status: OrderStatus): string {
  const filled = row.optionalQuantity('cumQty');
  if (filled !== undefined || row.fault !== undefined) return filled ?? '0';
  if (status === 'pending_new' || status === 'new' || status === 'rejected') return '0';
  const leaves = isTerminal(status) ? undefined : row.optionalQuantity('leavesQty');
  if (leaves === undefined || row.fault !== undefined || compareDecimals(leaves, total) > 0)
    return row.quantity('cumQty');
  return subtractDecimals(total, leaves);
}

/** The working quantity: if left out, the rest, unless the order has ended. */
export function leavesOf(row: RowReader, total: string, cumQty: string, status: OrderStatus): string {
  const leaves = row.optionalQuantity('leavesQty');
  if (leaves !== undefined || row.fault !== undefined) return leaves ?? '0';
  return isTerminal(status) || compareDecimals(cumQty, total) > 0 ? '0' : subtractDecimals(total, cumQty);
}
