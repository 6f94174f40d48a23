import { useMemo, useState } from 'preact/hooks';
import { ActionDialog } from '../parts/action-dialog.tsx';
import { useConsole } from '../parts/console.ts';
import { typedIn } from '../parts/filter-fields.tsx';
import { scopeText } from '../parts/words.ts';
import { CancelAllRun } from '../state/commands/cancel-all-run.ts';
import { pause } from '../state/ports.ts';
import type { Answer } from '../state/rest.ts';

export interface AskedAct {
  readonly verb: 'halt' | 'resume' | 'cancel-all';
  /** Undefined: all accounts. */
  readonly accountId: string | undefined;
}

interface RiskDialogProps {
  readonly asked: AskedAct;
  /** With a line for the reader, if the action does not show by itself. */
  readonly done: (note: string | undefined) => void;
  readonly close: () => void;
}

/** Confirms a halt, a resume or a cancel-all by its scope's name and a reason. */
export function RiskDialog(props: RiskDialogProps) {
  return props.asked.verb === 'cancel-all' ? <CancelAllDialog {...props} /> : <HaltDialog {...props} />;
}

const texts = {
  halt: 'From now on nothing is placed or replaced there; orders that are open stay, and can be cancelled. It holds until a person resumes.',
  resume: 'Orders can be placed and replaced there again. Every halt of this scope ends.',
} as const;

function HaltDialog({ asked: { verb, accountId }, done, close }: RiskDialogProps) {
  if (verb === 'cancel-all') return undefined;
  const scope = scopeText(accountId);
  return (
    <ActionDialog
      title={`${verb === 'halt' ? 'Halt placing on' : 'Resume placing on'} ${scope}?`}
      text={texts[verb]}
      typed={scope}
      label={verb === 'halt' ? 'Halt' : 'Resume'}
      danger={verb === 'halt'}
      run={accountId === undefined ? `/v1/${verb}` : `/v1/accounts/${encodeURIComponent(accountId)}/${verb}`}
      done={({ status }) =>
        done(
          status === 202
            ? `To resume placing on ${scope} a second person has to approve. Nothing was done yet.`
            : undefined,
        )
      }
      close={close}
    />
  );
}

/** The dialog waits so long for the answer; then the panel shows how far the cancel-all is. */
const dialogWaitsMs = 2_000;

const selections = [
  ['symbol', 'Symbol'],
  ['principal', 'Placed by'],
  ['reference', 'Reference'],
] as const;

function CancelAllDialog({ asked: { accountId }, done, close }: RiskDialogProps) {
  const state = useConsole();
  const scope = scopeText(accountId);
  const [only, setOnly] = useState<Readonly<Record<string, string>>>({});
  const [onLanding, setOnLanding] = useState<'cancel' | 'leave'>('cancel');
  // One run for a wish: the same words sent again are the same cancel-all.
  const runs = useMemo(() => new Map<string, CancelAllRun>(), []);
  const run = async (reason: string): Promise<Answer<unknown>> => {
    const chosen = Object.entries(only).flatMap(([name, text]) =>
      text.trim() === '' ? [] : [[name, text.trim()] as const],
    );
    const wish = { accountId, body: { reason, onLanding, ...Object.fromEntries(chosen) } };
    const words = JSON.stringify(wish);
    const made = runs.get(words) ?? new CancelAllRun(state, wish);
    runs.set(words, made);
    const { signOuts } = state.rest;
    const asked = made.ask();
    const waited = pause(state.ports, dialogWaitsMs, new AbortController().signal);
    const answer = await Promise.race([asked, waited]);
    // The next reader does not get to see it.
    if (state.rest.signOuts === signOuts && (answer === undefined || answer.kind === 'ok'))
      state.cancelAll.value = made;
    return answer ?? { kind: 'ok', status: 202, body: undefined };
  };
  const set = (name: string) => (event: Event) => setOnly({ ...only, [name]: typedIn(event) });
  return (
    <ActionDialog
      title={`Cancel the open orders of ${scope}?`}
      text="A cancel is sent for each order that is open now. Orders that are filled meanwhile stay filled. New orders can still be placed, unless you halt as well."
      typed={scope}
      label="Cancel the orders"
      danger={true}
      run={run}
      done={() => done(undefined)}
      close={close}
    >
      <details class="only">
        <summary>Only some orders</summary>
        <div class="form-pair">
          {selections.map(([name, label]) => (
            <label key={name}>
              {label}
              <input
                value={only[name] ?? ''}
                maxlength={128}
                autocomplete="off"
                spellcheck={false}
                onInput={set(name)}
              />
            </label>
          ))}
          <label>
            Side
            <select value={only['side'] ?? ''} onChange={set('side')}>
              <option value="">both</option>
              <option value="buy">buy</option>
              <option value="sell">sell</option>
            </select>
          </label>
        </div>
        <p class="hint">An order has to match each that is given.</p>
      </details>
      <label class="check">
        <input
          type="checkbox"
          checked={onLanding === 'cancel'}
          onChange={() => setOnLanding(onLanding === 'cancel' ? 'leave' : 'cancel')}
        />
        <span>Cancel orders that appear later from places whose result is not known now</span>
      </label>
    </ActionDialog>
  );
}
