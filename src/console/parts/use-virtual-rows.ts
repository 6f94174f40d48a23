import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { rowsInView } from '../state/orders/row-slots.ts';

interface VirtualRows {
  /** The rows in the page: from `first` up to `end`, without it. */
  readonly first: number;
  readonly end: number;
  readonly reveal: (index: number) => void;
}

interface VirtualOptions {
  readonly scroller: RefObject<HTMLElement | null>;
  readonly count: number;
  readonly rowHeight: number;
  /** The header stays on top. */
  readonly headHeight: number;
}

/** The rows of a long table now in view. All rows have one height, so no row is measured. */
export function useVirtualRows({ scroller, count, rowHeight, headHeight }: VirtualOptions): VirtualRows {
  const [seen, setSeen] = useState({ top: 0, height: 0 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    // Equal numbers draw nothing: a browser reports a scroll far
    // more often than rows come into view.
    const look = () =>
      setSeen((before) => {
        const [top, height] = [Math.floor(element.scrollTop / rowHeight) * rowHeight, element.clientHeight];
        return before.top === top && before.height === height ? before : { top, height };
      });
    look();
    const resized = new ResizeObserver(look);
    resized.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      resized.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, [rowHeight]);
  const reveal = (index: number) => {
    const element = scroller.current;
    if (element === null) return;
    const [top, bottom] = [index * rowHeight, (index + 1) * rowHeight + headHeight];
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom - element.clientHeight;
  };
  return { ...rowsInView({ ...seen, count, rowHeight }), reveal };
}
