import { useEffect, useRef, useState } from 'preact/hooks';
import type { Stream } from '../../../types/records.d.ts';
import type { CommandAnswer } from '../../schema/rest-answers.ts';
import { html } from '../parts/html.ts';
import type { ConsoleState } from '../state/console-state.ts';
import { sentenceOf } from '../state/rest.ts';

interface CancelProps {
  readonly state: ConsoleState;
  readonly order: { readonly stream: Stream; readonly orderId: string; readonly accountId: string };
  readonly close: () => void;
  /** With the id of the cancel. */
  readonly done: (commandId: string) => void;
}

/** Asks once more, then cancels the order. The key is made once, so pressing again after a lost answer never makes a second cancel. */
export function CancelDialog({ state, order, close, done }: CancelProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const key = useRef('');
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | undefined>(undefined);
  useEffect(() => {
    key.current = state.ports.newId();
    dialog.current?.showModal();
  }, []);
  const { stream, orderId, accountId } = order;
  const cancel = async () => {
    setBusy(true);
    setFault(undefined);
    const root = stream === 'prediction' ? '/v1/predictions/orders' : '/v1/orders';
    const path = `${root}/${encodeURIComponent(orderId)}?${new URLSearchParams({ accountId })}`;
    const answer = await state.rest.send<CommandAnswer>('DELETE', path, { headers: { 'idempotency-key': key.current } });
    setBusy(false);
    if (answer.kind !== 'ok') return setFault(sentenceOf(answer));
    dialog.current?.close();
    done(answer.body.commandId);
  };
  return html`<dialog ref=${dialog} class="deed" aria-labelledby="cancel-title" onClose=${close}>
    <div class="form">
      <h2 id="cancel-title">Cancel the order</h2>
      <p>The platform is asked to cancel <span class="id">${orderId}</span> on account ${accountId}. Its page shows what became of that.</p>
      ${fault !== undefined && html`<p class="fault" role="alert">${fault}</p>`}
      <div class="deeds">
        <button class="danger" disabled=${busy} onClick=${cancel}>${busy ? 'Working …' : 'Cancel the order'}</button>
        <button onClick=${() => dialog.current?.close()}>Not now</button>
      </div>
    </div>
  </dialog>`;
}
