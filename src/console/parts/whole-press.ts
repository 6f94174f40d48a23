import { options } from 'preact';
import type { Ports, Timer } from '../state/ports.ts';

const controls = 'button, a, summary, label, [role=option]';
/** A release may never come: a menu of the browser's own swallows it. */
const mostMs = 2000;

/**
 * Nothing is drawn while a control is pressed: a line that comes above it would move it away, and
 * the browser gives no click where press and release meet different elements.
 */
export function keepPressesWhole({ turn, after }: Pick<Ports, 'turn' | 'after'>): void {
  let bound: Timer | undefined;
  let held: (() => void)[] = [];
  // Preact gives one call for all that waits to be drawn.
  options.debounceRendering = (draw) => {
    if (bound === undefined) void Promise.resolve().then(draw);
    else held.push(draw);
  };
  const drawAgain = () => {
    bound?.cancel();
    bound = undefined;
    const draws = held;
    held = [];
    for (const draw of draws) draw();
  };
  const press = ({ target, button }: PointerEvent) => {
    if (button !== 0 || !(target instanceof Element) || target.closest(controls) === null) return;
    bound?.cancel();
    bound = after(mostMs, drawAgain);
  };
  // A click comes behind the release, if at all.
  const release = () => void turn().then(drawAgain);
  addEventListener('pointerdown', press, { capture: true });
  addEventListener('click', drawAgain);
  for (const end of ['pointerup', 'pointercancel']) addEventListener(end, release, { capture: true });
}
