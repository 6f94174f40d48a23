import { useRef } from 'preact/hooks';
import { actOnKey, keys } from '../parts/keys.ts';
import { type BlotterView, type ChangeView, widthBounds, withMoved } from '../state/orders/blotter-view.ts';
import { type ColumnName, columnOf, isAmount } from '../state/orders/order-columns.ts';
import { cellClass } from './blotter-row.tsx';

interface HeadProps {
  readonly view: BlotterView;
  readonly columns: readonly ColumnName[];
  readonly change: ChangeView;
  /** Widths shown while a column is dragged; undefined: the view's. */
  readonly preview: (widths: BlotterView['widths'] | undefined) => void;
}

const keyStep = 16;
const shortcuts = [keys.narrower, keys.wider, keys.toLeft, keys.toRight].map(([press]) => press).join(' ');
const columnType = 'application/x-tidemark-column';

/**
 * The headings: a click sorts; a heading is dragged to another place, or moved by `<` and `>`; each
 * edge is dragged, or moved by Shift and an arrow key, and a double click gives its usual width
 * back.
 */
export function BlotterHead(props: HeadProps) {
  return (
    <div class="head row" role="row" aria-rowindex={1}>
      {props.columns.map((name) => (
        <HeadCell key={name} name={name} {...props} />
      ))}
    </div>
  );
}

function HeadCell({ name, view, columns, change, preview }: HeadProps & { readonly name: ColumnName }) {
  const cell = useRef<HTMLDivElement>(null);
  const drag = useRef<{ readonly fromX: number; readonly from: number } | undefined>(undefined);
  const { label } = columnOf(name);
  const { sort, widths } = view;
  const sorted = sort.column === name;
  const shownWidth = () => Math.round(cell.current?.getBoundingClientRect().width ?? 0);
  const widthsWith = (width: number) => ({
    ...widths,
    [name]: Math.min(widthBounds.most, Math.max(widthBounds.least, width)),
  });
  const pick = () =>
    change({ sort: { column: name, descending: sorted ? !sort.descending : name === 'updated' || isAmount(name) } });
  const move = (moved: ColumnName, to: number) => change({ columns: withMoved(columns, moved, to) });
  const drop = (event: DragEvent) => {
    event.preventDefault();
    const moved = columns.find((other) => other === event.dataTransfer?.getData(columnType));
    if (moved !== undefined) move(moved, columns.indexOf(name));
  };
  const size = (step: number) => () => change({ widths: widthsWith(shownWidth() + step) });
  const shift = (step: number) => () => move(name, columns.indexOf(name) + step);
  const actions = { narrower: size(-keyStep), wider: size(keyStep), toLeft: shift(-1), toRight: shift(1) };
  const begin = (event: PointerEvent) => {
    if (event.button !== 0) return;
    (event.target as HTMLElement).setPointerCapture(event.pointerId);
    drag.current = { fromX: event.clientX, from: shownWidth() };
  };
  const dragged = (event: PointerEvent) =>
    drag.current === undefined
      ? undefined
      : widthsWith(Math.round(drag.current.from + event.clientX - drag.current.fromX));
  const end = (event: PointerEvent) => {
    const wanted = dragged(event);
    const moved = event.clientX !== drag.current?.fromX;
    drag.current = undefined;
    preview(undefined);
    if (wanted !== undefined && moved && event.type === 'pointerup') change({ widths: wanted });
  };
  const forget = () =>
    change({ widths: Object.fromEntries(Object.entries(widths).filter(([other]) => other !== name)) });
  const mark = sorted ? (sort.descending ? ' ↓' : ' ↑') : '';
  return (
    <div
      ref={cell}
      role="columnheader"
      class={cellClass(name)}
      onDragOver={(event) => event.dataTransfer?.types.includes(columnType) && event.preventDefault()}
      onDrop={drop}
      aria-sort={sorted ? (sort.descending ? 'descending' : 'ascending') : 'none'}
    >
      <button
        class="sort"
        title="Drag to another place, or < and >"
        draggable
        onDragStart={(event) => event.dataTransfer?.setData(columnType, name)}
        onClick={pick}
        onKeyDown={(event) => actOnKey(event, actions)}
        aria-keyshortcuts={shortcuts}
      >
        {label}
        {mark}
      </button>
      <span
        class="edge"
        aria-hidden="true"
        title="Drag to resize, double-click for the usual width"
        onPointerDown={begin}
        // Else the browser may begin to drag the heading.
        onMouseDown={(event) => event.preventDefault()}
        onPointerMove={(event) => drag.current !== undefined && preview(dragged(event))}
        onPointerUp={end}
        onPointerCancel={end}
        onDblClick={forget}
      />
    </div>
  );
}
