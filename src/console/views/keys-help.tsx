import { useEffect, useRef } from 'preact/hooks';
import { keys } from '../parts/keys.ts';

const shortNames: readonly (readonly [event: string, shown: string])[] = [
  ['Arrow', ''],
  ['Up', '↑'],
  ['Down', '↓'],
  ['Left', '←'],
  ['Right', '→'],
  ['Shift+', 'Shift '],
  ['Escape', 'Esc'],
];

function shown(press: string): string {
  return shortNames.reduce((text, [event, short]) => text.replace(event, short), press);
}

/** All keys. */
export function KeysHelp({ close }: { readonly close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="keys" aria-labelledby="keys-title" onClose={close}>
      <h2 id="keys-title">Keys</h2>
      <dl>
        {Object.values(keys).map(([presses, does]) => (
          <>
            <dt>
              {presses.split(' ').map((press) => (
                <>
                  <kbd>{shown(press)}</kbd>{' '}
                </>
              ))}
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
