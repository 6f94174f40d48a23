import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';

/** Says in `data-more` at which ends of a line that scrolls there is more, for its style. */
export function useScrollEnds(line: RefObject<HTMLElement | null>): void {
  const look = () => {
    if (line.current === null) return;
    const { scrollLeft, scrollWidth, clientWidth, dataset } = line.current;
    // A part of a pixel is nothing to see.
    const isMore = { left: scrollLeft > 1, right: scrollLeft + clientWidth < scrollWidth - 1 };
    dataset['more'] = Object.entries(isMore)
      .flatMap(([end, is]) => (is ? [end] : []))
      .join(' ');
  };
  useEffect(look);
  useEffect(() => {
    const sizes = new ResizeObserver(look);
    if (line.current !== null) sizes.observe(line.current);
    line.current?.addEventListener('scroll', look);
    return () => sizes.disconnect();
  }, []);
}
