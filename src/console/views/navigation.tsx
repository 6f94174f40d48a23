import { useEffect, useRef } from 'preact/hooks';
import { Link } from '../parts/link.tsx';
import { useScrollEnds } from '../parts/use-scroll-ends.ts';
import type { Place } from '../state/address.ts';
import type { ConsoleState } from '../state/console-state.ts';
import { navigation } from './screens.tsx';

interface NavigationProps {
  readonly state: ConsoleState;
  readonly screen: Place['screen'];
}

/**
 * Links to the screens. On a phone they are one scrolling line: the current one is brought to its
 * middle.
 */
export function Navigation({ state, screen }: NavigationProps) {
  const nav = useRef<HTMLElement>(null);
  useScrollEnds(nav);
  useEffect(() => {
    const line = nav.current;
    const current = line?.querySelector('[aria-current]');
    // Not by `scrollIntoView`, which may move the page too.
    if (line && current) line.scrollLeft += middleOf(current) - middleOf(line);
  }, [screen]);
  return (
    <nav aria-label="Screens" ref={nav}>
      {navigation(state.session).map(({ label, address, names }) => (
        <Link class="screen-link" to={address} current={names.includes(screen)}>
          {label}
        </Link>
      ))}
    </nav>
  );
}

function middleOf(element: Element): number {
  const { left, width } = element.getBoundingClientRect();
  return left + width / 2;
}
