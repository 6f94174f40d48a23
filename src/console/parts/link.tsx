import { type ComponentChildren, createContext, type VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { commandAddress, orderAddress } from '../state/address.ts';

/** Goes to an address in the console without loading the page anew. */
export const Go = createContext<(address: string, options?: { readonly replace?: boolean }) => void>(() => undefined);

export const useGo = () => useContext(Go);

interface LinkProps {
  readonly to: string;
  readonly class?: string;
  readonly title?: string;
  readonly 'aria-label'?: string;
  readonly children?: ComponentChildren;
  readonly current?: boolean;
  readonly tabIndex?: number;
}

/** A link within the console. A click with a key held opens a tab as everywhere. */
export function Link({ to, current, children, ...rest }: LinkProps) {
  const go = useGo();
  const click = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a href={to} onClick={click} aria-current={current ? 'page' : undefined} {...rest}>
      {children}
    </a>
  );
}

/** An order's id, as a link to its page. */
export function orderLink(order: Parameters<typeof orderAddress>[0]): VNode {
  return (
    <Link class="id" to={orderAddress(order)}>
      {order.orderId}
    </Link>
  );
}

/** A command's id, or other words for it, as a link to its page. */
export function commandLink(commandId: string, words?: string): VNode {
  return (
    <Link class={words === undefined ? 'id' : ''} to={commandAddress(commandId)}>
      {words ?? commandId}
    </Link>
  );
}
