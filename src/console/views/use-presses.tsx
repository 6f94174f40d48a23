import { useRef } from 'preact/hooks';
import { useConsole } from '../parts/console.ts';
import { useGo } from '../parts/link.tsx';
import { orderAddress } from '../state/address.ts';
import { isGroup, type ListRow } from '../state/orders/order-groups.ts';
import type { OrderList } from '../state/orders/order-list.ts';
import { rowId } from './blotter-row.tsx';

interface PressDeps {
  /** As they are drawn now. */
  readonly shown: readonly ListRow[];
  /** A click anywhere on an order opens it. */
  readonly opens: boolean;
  readonly list: OrderList;
  readonly pick: (key: string) => void;
  readonly mark: ((key: string) => void) | undefined;
}

interface Press {
  readonly row: ListRow;
  readonly to: string | undefined;
  readonly x: number;
  readonly y: number;
}

/** A hand is not steadier. */
const mostPixels = 8;

/**
 * Clicks on rows. One counts for the row under the pointer as the press began: by its end another
 * may have come there.
 */
export function usePresses({ list, shown, opens, pick, mark }: PressDeps) {
  const { ports } = useConsole();
  const hold = () => list.hold(ports);
  const go = useGo();
  const pressed = useRef<Press | undefined>(undefined);
  const under = ({ target, clientX: x, clientY: y }: MouseEvent): Press | undefined => {
    if (!(target instanceof Element)) return undefined;
    const id = target.closest('[role=row]')?.id;
    const row = shown.find(({ key }) => rowId(key) === id);
    return row && { row, to: target.closest('a')?.getAttribute('href') ?? undefined, x, y };
  };
  const click = (event: MouseEvent) => {
    const now = under(event);
    // By a key, or by a reader of the screen: without a press.
    const press = event.detail === 0 ? now : pressed.current;
    const stays = press !== undefined && now?.row.key === press.row.key;
    const isOwn = stays && now?.to !== undefined && !event.shiftKey;
    if (!isOwn) {
      // Of a link that came under the pointer, and of a window by the shift key.
      event.preventDefault();
      event.stopPropagation();
    }
    const isNear = press !== undefined && Math.hypot(event.clientX - press.x, event.clientY - press.y) < mostPixels;
    if (press === undefined || !(stays || isNear)) return;
    const { row } = press;
    pick(row.key);
    if (isGroup(row)) list.fold(row.group);
    else if (event.shiftKey) mark?.(row.key);
    else if (!isOwn && !event.ctrlKey && !event.metaKey) {
      const to = press.to ?? (opens && isNear ? orderAddress(row) : undefined);
      if (to !== undefined) go(to);
    }
  };
  return {
    onPointerMove: hold,
    onPointerDownCapture: (event: PointerEvent) => {
      hold();
      pressed.current = under(event);
    },
    // Else the text between two clicks is selected.
    onMouseDown: (event: MouseEvent) => event.shiftKey && event.preventDefault(),
    onClickCapture: click,
  };
}
