import { keys } from '../parts/keys.ts';
import { useModal } from '../parts/use-modal.ts';

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
  const { ref, end } = useModal(close);
  return (
    <dialog ref={ref} class="keys" aria-labelledby="keys-title" onClose={end}>
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
      <button class="main" onClick={end}>
        Close
      </button>
    </dialog>
  );
}
