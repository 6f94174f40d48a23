import { useRef } from 'preact/hooks';
import { type BlotterView, type ColumnName, widthBounds } from '../state/orders/blotter-view.ts';
import { columnsByName } from './blotter-columns.tsx';

interface HeadProps {
  readonly view: BlotterView;
  readonly change: (over: Partial<BlotterView>) => void;
  /** Widths shown while a column is dragged; undefined: the view's. */
  readonly preview: (widths: BlotterView['widths'] | undefined) => void;
}

const keyStep = 16;

/**
 * The headings: a click sorts; each edge is dragged, or moved by Shift and an arrow key, and a
 * double click gives its usual width back.
 */
export function BlotterHead({ view, change, preview }: HeadProps) {
  return (
    <div class="head row" role="row" aria-rowindex={1}>
      {view.columns.map((name) => (
        <HeadCell key={name} name={name} view={view} change={change} preview={preview} />
      ))}
    </div>
  );
}

function HeadCell({ name, view, change, preview }: HeadProps & { readonly name: ColumnName }) {
  const cell = useRef<HTMLDivElement>(null);
  const drag = useRef<{ readonly fromX: number; readonly from: number } | undefined>(undefined);
  const { label, number } = columnsByName[name];
  const { sort, widths } = view;
  const sorted = sort.column === name;
  const shownWidth = () => Math.round(cell.current?.getBoundingClientRect().width ?? 0);
  const widthsWith = (width: number) => ({
    ...widths,
    [name]: Math.min(widthBounds.most, Math.max(widthBounds.least, width)),
  });
  const pick = () =>
    change({ sort: { column: name, descending: sorted ? !sort.descending : name === 'updated' || number === true } });
  const key = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -keyStep, ArrowRight: keyStep }[event.key];
    if (step === undefined || !event.shiftKey) return;
    event.preventDefault();
    change({ widths: widthsWith(shownWidth() + step) });
  };
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
      class={`cell col-${name}${number === true ? ' number' : ''}`}
      aria-sort={sorted ? (sort.descending ? 'descending' : 'ascending') : 'none'}
    >
      <button class="sort" onClick={pick} onKeyDown={key} aria-keyshortcuts="Shift+ArrowLeft Shift+ArrowRight">
        {label}
        {mark}
      </button>
      <span
        class="edge"
        aria-hidden="true"
        title="Drag to resize, double-click for the usual width"
        onPointerDown={begin}
        onPointerMove={(event: PointerEvent) => drag.current !== undefined && preview(dragged(event))}
        onPointerUp={end}
        onPointerCancel={end}
        onDblClick={forget}
      />
    </div>
  );
}
