import { useEffect, useRef } from 'preact/hooks';

const keys: readonly (readonly [key: string, does: string])[] = [
  ['/', 'search orders, commands, accounts and references'],
  ['j  k  ↓  ↑', 'next and previous order'],
  ['Enter', 'open the order'],
  ['Esc', 'back'],
  ['f', 'filter the orders by a text'],
  ['p', 'pause, and go on'],
  ['o', 'open orders only, or all'],
  ['Shift ← →', 'on a heading: narrower, wider'],
  ['<  >', 'on a heading: to the left, to the right'],
  ['?', 'this list'],
];

/** The keys that work everywhere. */
export function KeysHelp({ close }: { readonly close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="keys" aria-labelledby="keys-title" onClose={close}>
      <h2 id="keys-title">Keys</h2>
      <dl>
        {keys.map(([key, does]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </>
        ))}
      </dl>
      <button class="main" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
