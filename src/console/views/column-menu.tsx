import { useEffect, useRef } from 'preact/hooks';
import {
  type BlotterView,
  type ColumnName,
  columnNames,
  defaultView,
  withColumn,
} from '../state/orders/blotter-view.ts';
import { columnsByName } from './blotter-columns.tsx';

interface MenuProps {
  readonly view: BlotterView;
  readonly change: (over: Partial<BlotterView>) => void;
}

/** The columns to choose. A click beside it or Escape closes it. */
export function ColumnMenu({ view, change }: MenuProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const { current } = menu;
      if (current?.open !== true) return;
      const leaves = event instanceof KeyboardEvent ? event.key === 'Escape' : !current.contains(event.target as Node);
      if (!leaves) return;
      const hadFocus = current.contains(document.activeElement);
      current.open = false;
      if (event instanceof KeyboardEvent && hadFocus) current.querySelector('summary')?.focus();
    };
    addEventListener('pointerdown', close);
    addEventListener('keydown', close);
    return () => {
      removeEventListener('pointerdown', close);
      removeEventListener('keydown', close);
    };
  }, []);
  const isUsual = view.columns === defaultView.columns && Object.keys(view.widths).length === 0;
  return (
    <details class="columns" ref={menu}>
      <summary>Columns</summary>
      <div>
        {columnNames.map((name) => columnChoice(name, view, change))}
        <button disabled={isUsual} onClick={() => change({ columns: defaultView.columns, widths: {} })}>
          Usual columns
        </button>
      </div>
    </details>
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
      <input type="checkbox" checked={shown} onChange={toggle} /> {columnsByName[name].label}
    </label>
  );
}
