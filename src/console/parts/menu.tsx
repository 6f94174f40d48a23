import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface MenuProps {
  readonly label: string;
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** Fields behind a button. A click beside them or Escape closes it. */
export function Menu({ label, class: name, children }: MenuProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const { current } = menu;
      if (current?.open !== true) return;
      const leaves = event instanceof KeyboardEvent ? event.key === 'Escape' : !current.contains(event.target as Node);
      if (!leaves) return;
      const hadFocus = current.contains(document.activeElement);
      current.open = false;
      if (!(event instanceof KeyboardEvent)) return;
      event.preventDefault();
      if (hadFocus) current.querySelector('summary')?.focus();
    };
    addEventListener('pointerdown', close);
    // Before the keys of the page: the same Escape would leave the screen.
    addEventListener('keydown', close, true);
    return () => {
      removeEventListener('pointerdown', close);
      removeEventListener('keydown', close, true);
    };
  }, []);
  return (
    <details class={name === undefined ? 'menu' : `menu ${name}`} ref={menu}>
      <summary>{label}</summary>
      <div>{children}</div>
    </details>
  );
}
