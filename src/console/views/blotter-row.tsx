import { Component, type VNode } from 'preact';
import { dayOf } from '../parts/time-text.tsx';
import type { ColumnName } from '../state/orders/blotter-view.ts';
import type { OrderRow } from '../state/orders/order-row.ts';
import { columnsByName } from './blotter-columns.tsx';

interface RowProps {
  readonly row: OrderRow;
  /** In the whole list, from 0. */
  readonly index: number;
  readonly height: number;
  readonly columns: readonly ColumnName[];
  readonly active: boolean;
  /** Its changed cells flash when it first shows here. */
  readonly flashing: boolean;
  readonly nowMs: number;
  readonly pick: (key: string) => void;
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
    const { row, columns, index, height, active } = this.props;
    // Times of yesterday have their day from midnight on.
    const sameDay = dayOf(new Date(next.nowMs)) === dayOf(new Date(this.props.nowMs));
    const same = next.row === row && next.columns === columns && sameDay;
    if (!same) {
      this.odd = !this.odd;
      this.cells = cellsOf(next, this.odd);
    }
    return !same || next.index !== index || next.height !== height || next.active !== active;
  }

  override componentWillMount(): void {
    this.cells = cellsOf(this.props, this.odd);
  }

  override render({ row, index, height, active, pick }: RowProps): VNode {
    return (
      <div
        id={rowId(row.key)}
        class={active ? 'row active' : 'row'}
        role="row"
        aria-rowindex={index + 2}
        aria-selected={active}
        style={{ height: `${height}px`, transform: `translateY(${index * height}px)` }}
        onClick={() => pick(row.key)}
      >
        {this.cells}
      </div>
    );
  }
}

/** The id of an order's element. */
export function rowId(key: string): string {
  return `row ${key}`.replace(/\s/g, '-');
}

/** `odd`: two names in turn, since an animation begins anew only when its name changes. */
function cellsOf({ row, columns, flashing, nowMs }: RowProps, odd: boolean): readonly VNode[] {
  const flash = odd ? ' flash-odd' : ' flash-even';
  return columns.map((name) => {
    const { cell, fields, number } = columnsByName[name];
    // A new order changed in every field: one cell says so.
    const flashes =
      flashing && (row.revision === 1 ? name === 'status' : fields.some((field) => row.changed.includes(field)));
    return (
      <div role="gridcell" class={`cell col-${name}${number === true ? ' number' : ''}${flashes ? flash : ''}`}>
        {cell(row, nowMs)}
      </div>
    );
  });
}
