import { Menu } from '../parts/menu.tsx';
import { type BlotterView, defaultView, withColumn } from '../state/orders/blotter-view.ts';
import { type ColumnName, columnNames, columnOf } from '../state/orders/order-columns.ts';

interface MenuProps {
  readonly view: BlotterView;
  readonly change: (over: Partial<BlotterView>) => void;
}

/** The columns to choose. */
export function ColumnMenu({ view, change }: MenuProps) {
  const isUsual = view.columns === defaultView.columns && Object.keys(view.widths).length === 0;
  return (
    <Menu label="Columns" class="columns">
      {columnNames.map((name) => columnChoice(name, view, change))}
      <button disabled={isUsual} onClick={() => change({ columns: defaultView.columns, widths: {} })}>
        Usual columns
      </button>
    </Menu>
  );
}

function columnChoice(name: ColumnName, { columns }: BlotterView, change: MenuProps['change']) {
  const shown = columns.includes(name);
  const toggle = () => {
    const wanted = shown ? columns.filter((other) => other !== name) : withColumn(columns, name);
    if (wanted.length > 0) change({ columns: wanted });
  };
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={shown}
        disabled={name === 'outcome' && columns.includes('instrument')}
        onChange={toggle}
      />{' '}
      {columnOf(name).label}
    </label>
  );
}
