import type { VNode } from 'preact';
import { type ColumnName, columnOf } from '../state/orders/order-columns.ts';
import { type GroupPart, type GroupRow, groupText, summed } from '../state/orders/order-groups.ts';
import { amountText, textOfUnits } from '../state/text/decimal-text.ts';
import { plural } from '../state/text/word-text.ts';
import { amountCell, leastPlaces } from './blotter-columns.tsx';
import { cellClass, rowProps } from './blotter-row.tsx';
import { spanOf } from './column-sizes.tsx';

interface LineProps {
  readonly row: GroupRow;
  readonly group: readonly GroupPart[];
  readonly index: number;
  readonly height: number;
  readonly columns: readonly ColumnName[];
  readonly active: boolean;
  readonly selected: boolean;
}

/** A group's line: its name with a side, and this side's sums. */
export function GroupLine({ row, group, index, height, columns, active, selected }: LineProps): VNode {
  const span = spanOf(columns);
  return (
    <div role="row" {...rowProps({ row, index, height, selected })} class={active ? 'row group active' : 'row group'}>
      <div role="gridcell" aria-colspan={span} class="cell group-name" style={`--span:${span}`}>
        {row.leads ? (
          <button class="fold" aria-expanded={!row.folded}>
            {row.folded ? '▸' : '▾'} {groupText(row, group)}
          </button>
        ) : (
          <span class="other-side">{groupText(row, group)}</span>
        )}{' '}
        <span class="soft">{plural(row.orders, 'order')}</span>
      </div>
      {columns.slice(span).map((name) => {
        const sum = row.sums[summed.indexOf(name)];
        return (
          <div
            role="gridcell"
            aria-label={sum === undefined ? undefined : sumLabel(name, sum, row.unpriced)}
            class={cellClass(name)}
            data-label={columnOf(name).label}
          >
            {name === 'value' && row.unpriced > 0 && (
              <span class="doubt" title={`${plural(row.unpriced, 'order')} without a price left out`}>
                ≥{' '}
              </span>
            )}
            {sum !== undefined && amountCell(name, textOfUnits(sum), leastPlaces(name, 0))}
          </div>
        );
      })}
    </div>
  );
}

/** In one piece for readers of the screen, as `labelOf` of an order's amounts. */
function sumLabel(name: ColumnName, sum: bigint, unpriced: number): string {
  const amount = amountText(textOfUnits(sum), leastPlaces(name, 0));
  return `${columnOf(name).label} ${name === 'value' && unpriced > 0 ? 'at least ' : ''}${amount}`;
}
