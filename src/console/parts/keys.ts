import { useEffect, useRef } from 'preact/hooks';

/**
 * All keys of the console, as events name them, and what they do. `?` shows them in this order, and
 * no other key does anything.
 */
export const keys = {
  next: ['j ArrowDown', 'next order'],
  previous: ['k ArrowUp', 'previous order'],
  nextDoubt: ['d', 'next order in doubt'],
  previousDoubt: ['D', 'previous order in doubt'],
  open: ['Enter', 'open the order'],
  cancel: ['x', 'cancel the order; a question comes first'],
  mark: ['m', 'mark the order, or not; x then cancels all marked'],
  replace: ['r', 'replace the terms of the order'],
  place: ['n', 'place a new order'],
  search: ['/', 'search orders, commands, accounts and references'],
  filter: ['f', 'filter the orders by a text'],
  openOnly: ['o', 'open orders only, or all'],
  pause: ['p', 'pause, and go on'],
  narrower: ['Shift+ArrowLeft', 'on a heading: narrower'],
  wider: ['Shift+ArrowRight', 'on a heading: wider'],
  toLeft: ['<', 'on a heading: to the left'],
  toRight: ['>', 'on a heading: to the right'],
  back: ['Escape', 'back; or no marks'],
  help: ['?', 'this list'],
} as const;

type Actions = { readonly [name in keyof typeof keys]?: (() => void) | undefined };

/** Does what the pressed key is for, if that is among these actions. */
export function actOnKey(event: KeyboardEvent, actions: Actions): void {
  const pressed = event.shiftKey && event.key.startsWith('Arrow') ? `Shift+${event.key}` : event.key;
  for (const [name, [presses]] of Object.entries(keys)) {
    const run = actions[name as keyof typeof keys];
    if (run === undefined || !presses.split(' ').includes(pressed)) continue;
    event.preventDefault();
    run();
  }
}

/** The actions of one view, while it is shown. */
export function useKeys(actions: Actions): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      if (!isTaken(event)) actOnKey(event, latest.current);
    };
    addEventListener('keydown', key);
    // Each is added once, however many views do it, and stays.
    addEventListener('click', noteClick, true);
    addEventListener('focusin', forgetClick);
    return () => removeEventListener('keydown', key);
  }, []);
}

/** Has the focus by the pointer: the next keys are not meant for it. */
let clicked: Element | null = null;

const controlOf = ({ target }: Event) => (target instanceof Element ? target.closest('a, button, summary') : null);

/** A click by a key has no detail. */
function noteClick(event: MouseEvent): void {
  clicked = event.detail > 0 ? controlOf(event) : null;
}

function forgetClick(): void {
  clicked = null;
}

/** Whether the key is text, one of the browser, of an open dialog, or of the control in focus. */
function isTaken(event: KeyboardEvent): boolean {
  const { target, ctrlKey, metaKey, altKey, key, defaultPrevented } = event;
  if (ctrlKey || metaKey || altKey || defaultPrevented || document.querySelector('dialog[open]') !== null) return true;
  if (target instanceof Element && target.matches('input:not([type=checkbox]), select, textarea')) return true;
  const control = controlOf(event);
  return key === 'Enter' && control !== null && control !== clicked;
}
