import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { joined } from '../state/text/word-text.ts';

/** For a line that scrolls: says in its `data-more` at which ends there is more, for its style. */
export function useScrollEnds(): RefObject<HTMLElement | null> {
  const line = useRef<HTMLElement>(null);
  const look = () => {
    if (line.current === null) return;
    const { scrollLeft, scrollWidth, clientWidth, dataset } = line.current;
    // A part of a pixel is nothing to see.
    const isCut = scrollLeft + clientWidth < scrollWidth - 1;
    dataset['more'] = joined([scrollLeft > 1 && 'left', isCut && 'right'], ' ');
  };
  useEffect(look);
  useEffect(() => {
    const sizes = new ResizeObserver(look);
    if (line.current !== null) sizes.observe(line.current);
    line.current?.addEventListener('scroll', look);
    return () => sizes.disconnect();
  }, []);
  return line;
}
