import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type Answer, type Failure, type Ok, sentenceOf } from '../state/rest.ts';
import { useConsole } from './console.ts';
import { faultNote } from './notes.tsx';
import { useModal } from './use-modal.ts';

interface ActionDialogProps<T> {
  readonly title: string;
  /** One or two sentences: the effect. */
  readonly text: ComponentChildren;
  /** The name the reader has to type, of the thing concerned. Left out: nothing has to be typed. */
  readonly typed?: string;
  readonly label: string;
  readonly danger?: boolean;
  /** Further fields, between the text and the reason. */
  readonly children?: ComponentChildren;
  /** False: the service takes no reason for this action, so none is asked for. */
  readonly asksReason?: boolean;
  /** False: the further fields do not say an action yet. */
  readonly ready?: boolean;
  /** Words for a failure, if the service's own are not enough. */
  readonly explain?: (answer: Failure) => string | undefined;
  /** Does it, with the given reason; or the path that the reason is posted to. */
  readonly run: string | ((reason: string) => Promise<Answer<T>>);
  /** After it was done: with its answer. */
  readonly done: (answer: Ok<T>) => void;
  readonly close: () => void;
}

/**
 * Asks for a reason, and for the name of the thing if a slip would be costly; then acts once, and
 * says why if it is refused.
 */
export function ActionDialog<T>(props: ActionDialogProps<T>) {
  const { title, text, typed, label, danger, children, asksReason = true, explain, run, done } = props;
  const { rest } = useConsole();
  const { ref, end } = useModal(props.close);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const [name, setName] = useState('');
  const [reason, setReason] = useState('');
  useEffect(() => {
    // A key pressed by mistake, and Enter after it, must not act. `autofocus` makes the browser
    // complain.
    if (danger === true && !asksReason) ref.current?.querySelector<HTMLElement>('button[type=button]')?.focus();
  }, []);
  const ready =
    props.ready !== false && (!asksReason || reason.trim() !== '') && (typed === undefined || name === typed) && !busy;
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!ready) return;
    setBusy(true);
    setFault(undefined);
    const why = reason.trim();
    const answer = await (typeof run === 'string' ? rest.send<T>('POST', run, { body: { reason: why } }) : run(why));
    setBusy(false);
    if (answer.kind !== 'ok') return setFault(explain?.(answer) ?? sentenceOf(answer));
    done(answer);
    end();
  };
  return (
    <dialog
      ref={ref}
      class="action-dialog"
      aria-labelledby="action-title"
      onClose={end}
      // Until there is an answer it can't be taken back, and a refusal must be seen.
      onCancel={(event) => busy && event.preventDefault()}
    >
      <form class="form" onSubmit={submit}>
        <h2 id="action-title">{title}</h2>
        <p>{text}</p>
        {children}
        {typed !== undefined && (
          <label>
            Type {typed} to confirm
            <input
              value={name}
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => setName(event.currentTarget.value)}
            />
          </label>
        )}
        {asksReason && (
          <label>
            Reason, for the record
            <input value={reason} maxlength={500} required onInput={(event) => setReason(event.currentTarget.value)} />
          </label>
        )}
        {fault !== undefined && faultNote(fault)}
        <div class="actions">
          <button type="submit" class={danger === true ? 'danger' : 'main'} disabled={!ready}>
            {busy ? 'Working …' : label}
          </button>
          <button type="button" disabled={busy} onClick={end}>
            Not now
          </button>
        </div>
      </form>
    </dialog>
  );
}
