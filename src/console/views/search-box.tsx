import type { VNode } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { accountText } from '../../domain/streams.ts';
import { termsText } from '../../domain/terms-text.ts';
import { commandStateText } from '../parts/command-words.ts';
import { useConsole } from '../parts/console.ts';
import { useGo } from '../parts/link.tsx';
import { faultNote } from '../parts/notes.tsx';
import { orderText } from '../parts/order-text.tsx';
import { useModal } from '../parts/use-modal.ts';
import { useValue } from '../parts/use-value.ts';
import { statusText } from '../parts/words.ts';
import { type Hit, Search } from '../state/orders/search.ts';
import { joined, plural } from '../state/text/word-text.ts';

/**
 * One search for orders, commands and accounts, over whatever screen
 * is open: by the keys alone, or by pointer.
 */
export function SearchBox({ close }: { readonly close: () => void }) {
  const state = useConsole();
  const go = useGo();
  const { ref, end } = useModal(close);
  const search = useMemo(() => new Search(state, (scope) => state.session.may(scope)), []);
  const { text, isAsking, hits, fault } = useValue(search.state);
  const [chosen, setChosen] = useState(0);
  /** Enter came before the answer, whose first hit it is for. */
  const [isEntered, setEntered] = useState(false);
  useEffect(() => () => search.close(), [search]);
  useEffect(() => setChosen(0), [text]);
  const open = (hit: Hit | undefined) => {
    if (hit === undefined) return;
    end();
    go(hit.address);
  };
  useEffect(() => {
    if (isAsking || !isEntered) return;
    setEntered(false);
    // With a part missing the first one may be another.
    if (fault === undefined) open(hits[0]);
  }, [isAsking, isEntered]);
  const key = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setChosen((before) => Math.max(0, Math.min(hits.length - 1, before + step)));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      // As it is now: what was typed right before may not be drawn yet.
      const now = search.state.peek();
      if (now.isAsking) setEntered(true);
      else open(now.hits[chosen]);
    }
  };
  return (
    <dialog ref={ref} class="search-box" aria-label="Search" onClose={end}>
      <input
        role="combobox"
        aria-label="Search for an order, a command, an account or a reference"
        aria-expanded={hits.length > 0}
        aria-controls="hits"
        aria-autocomplete="list"
        aria-activedescendant={hits.length > 0 ? `hit-${chosen}` : undefined}
        placeholder="Order, command, account or reference"
        maxlength={128}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => {
          setEntered(false);
          void search.ask(event.currentTarget.value);
        }}
        onKeyDown={key}
      />
      <ul id="hits" role="listbox" aria-label="Found">
        {hits.map((hit, at) => (
          <li
            id={`hit-${at}`}
            key={hit.address}
            role="option"
            aria-selected={at === chosen}
            onClick={() => open(hit)}
            onMouseMove={() => setChosen(at)}
          >
            {hitView(hit)}
          </li>
        ))}
      </ul>
      <p class="hint" role="status">
        {statusOf(text, isAsking, hits)}
      </p>
      {fault !== undefined && faultNote(`Not everything could be searched. ${fault}`)}
    </dialog>
  );
}

function statusOf(text: string, isAsking: boolean, hits: readonly Hit[]): string {
  if (isAsking) return 'Searching …';
  if (text === '') return 'Two characters or more: any id or reference, whole, or a part of one of an order.';
  const found = hits.filter(({ kind }) => kind !== 'filter').length;
  return found === 0 ? 'Nothing has this id or reference.' : `${plural(found, 'hit')}. Enter opens the chosen one.`;
}

function hitView(hit: Hit): VNode {
  const [kind, text, more] = partsOf(hit);
  return (
    <>
      <b>{kind}</b>
      <span>{text}</span>
      {more && <span class="soft">{more}</span>}
    </>
  );
}

/** The kind of a hit, its name, and what else tells it from others. */
function partsOf(hit: Hit): readonly [kind: string, text: string, more?: string] {
  if (hit.kind === 'filter') return ['Filter', `live orders by “${hit.text}”`];
  if (hit.kind === 'account') return ['Account', hit.accountId, plural(hit.openOrders, 'open order')];
  if (hit.kind === 'command') {
    const { commandId, kind, terms, state, callerRef } = hit.command;
    const text = kind === 'cancel' ? kind : `${kind} ${termsText(kind, terms)}`;
    return ['Command', text, joined([commandStateText(state), accountText(hit.command), callerRef, commandId])];
  }
  const { order, orderId } = hit.order;
  const more = joined([statusText(order.status), accountText(hit.order), order.callerRef, orderId]);
  return ['Order', orderText(hit.order), more];
}
