import { Component, type VNode } from 'preact';
import { dayOf } from '../parts/time-text.tsx';
import { type ColumnName, columnOf, isAmount } from '../state/orders/order-columns.ts';
import { type GroupPart, type GroupRow, groupText, type ListRow, summed } from '../state/orders/order-groups.ts';
import type { OrderRow } from '../state/orders/order-row.ts';
import { amountText, textOfUnits } from '../state/text/decimal-text.ts';
import { plural } from '../state/text/word-text.ts';
import { amountCell, cellOf, labelOf, leastPlaces } from './blotter-columns.tsx';
import { type ColumnSizes, spanOf } from './column-sizes.tsx';

interface RowProps {
  readonly row: OrderRow;
  /** In the whole list, from 0. */
  readonly index: number;
  readonly height: number;
  readonly columns: readonly ColumnName[];
  /** The same columns in lines: on a phone. */
  readonly lines?: readonly (readonly ColumnName[])[];
  readonly sizes: ColumnSizes;
  /** From `sizes`: with another one, prices have more decimals. */
  readonly grown: number;
  readonly active: boolean;
  /** The next action is for it. */
  readonly selected: boolean;
  readonly isMarked: boolean;
  /** Its changed cells flash when it first shows here. */
  readonly flashing: boolean;
  readonly nowMs: number;
}

/**
 * One place in the table, for one order after the other. A row never changes, so its cells are made
 * once, and Preact passes equal cells over: most rows in a frame are those from the frame before,
 * at another height. They are kept with the place and not with the row: the rows ever in view are
 * many.
 */
export class BlotterRow extends Component<RowProps> {
  private cells: readonly VNode[] = [];
  private odd = false;

  override shouldComponentUpdate(next: RowProps): boolean {
    const { row, columns, grown, index, height, active, selected, isMarked } = this.props;
    // Times of yesterday have their day from midnight on.
    const sameDay = dayOf(new Date(next.nowMs)) === dayOf(new Date(this.props.nowMs));
    const same = next.row === row && next.columns === columns && next.grown === grown && sameDay;
    if (!same) {
      this.odd = !this.odd;
      this.cells = cellsOf(next, this.odd);
    }
    const stays = next.index === index && next.height === height && next.active === active;
    return !same || !stays || next.selected !== selected || next.isMarked !== isMarked;
  }

  override componentWillMount(): void {
    this.cells = cellsOf(this.props, this.odd);
  }

  override render({ row, index, height, active, selected, isMarked }: RowProps): VNode {
    return (
      <div
        role="row"
        {...rowProps({ row, index, height, selected })}
        class={`row${active ? ' active' : ''}${isMarked ? ' marked' : ''}`}
      >
        {this.cells}
      </div>
    );
  }
}

interface RowPlace extends Pick<RowProps, 'index' | 'height' | 'selected'> {
  readonly row: ListRow;
}

/** The attributes of a row's element, of an order and of a group alike. */
function rowProps({ row, index, height, selected }: RowPlace) {
  return {
    id: rowId(row.key),
    'aria-rowindex': index + 2,
    'aria-selected': selected,
    style: { height: `${height}px`, transform: `translateY(${index * height}px)` },
  } as const;
}

/** The id of an order's element. */
export function rowId(key: string): string {
  return `row ${key}`.replace(/\s/g, '-');
}

/** `odd`: two names in turn, since an animation begins anew only when its name changes. */
function cellsOf({ row, columns, lines, sizes, flashing, nowMs }: RowProps, odd: boolean): readonly VNode[] {
  const flash = odd ? ' flash-odd' : ' flash-even';
  const places = sizes.placesOf(row);
  const cells = (names: readonly ColumnName[]) =>
    names.map((name) => {
      const { fields } = columnOf(name);
      // A new order changed in every field: one cell says so.
      const flashes =
        flashing && (row.revision === 1 ? name === 'status' : fields.some((field) => row.changed.includes(field)));
      return (
        <div
          role="gridcell"
          aria-label={labelOf(name, row, { places, nowMs }, lines !== undefined)}
          class={`${cellClass(name)}${flashes ? flash : ''}`}
        >
          {cellOf(name, row, { places, nowMs })}
        </div>
      );
    });
  if (lines === undefined) return cells(columns);
  return lines.map((names) => (
    <div class="line" role="presentation">
      {cells(names)}
    </div>
  ));
}

export function cellClass(name: ColumnName): string {
  return `cell col-${name}${isAmount(name) ? ' number' : ''}`;
}

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
