import { useEffect, useState } from 'preact/hooks';
import { useConsole } from '../parts/console.ts';
import { faultNote } from '../parts/notes.tsx';
import { useWhileShown } from '../parts/use-while-shown.ts';

interface SignInProps {
  readonly why: string | undefined;
}

/**
 * For the part a reader needs first, unless something has the focus already. The attribute
 * `autofocus` would make the browser complain then.
 */
function focusFirst(part: HTMLElement | null): void {
  if (document.activeElement === null || document.activeElement === document.body) part?.focus();
}

/** Sign-in by the issuer if there is one, else by a token. */
export function SignIn({ why }: SignInProps) {
  const { session } = useConsole();
  const [fault, setFault] = useState<string | undefined>(why);
  const [busy, setBusy] = useState(false);
  /** Undefined: it is not known yet whether an issuer signs readers in. Null: none does. */
  const [host, setHost] = useState<string | null>();
  useEffect(() => setFault(why), [why]);
  useWhileShown(
    async (signal) => {
      const found = await session.issuer.knownSettings(signal);
      if (!signal.aborted) setHost(found === undefined ? null : new URL(found.issuer).host);
    },
    [session],
  );
  const during = async (work: Promise<string | undefined>) => {
    setBusy(true);
    setFault(await work);
    setBusy(false);
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const token = new FormData(event.target as HTMLFormElement).get('token');
    void during(session.signIn(String(token ?? '')));
  };
  const token = tokenForm({ submit, busy, main: host === null });
  return (
    <main class="sign-in">
      <section class="sign-in-sheet" aria-labelledby="sign-in-title">
        <h1 id="sign-in-title">Tidemark</h1>
        {fault !== undefined && faultNote(fault)}
        {host === null && token}
        {typeof host === 'string' && (
          <>
            <button class="main" disabled={busy} ref={focusFirst} onClick={() => void during(session.signInAtIssuer())}>
              {busy ? 'Signing in …' : `Sign in with ${host}`}
            </button>
            <details>
              <summary>Use a token instead</summary>
              {token}
            </details>
          </>
        )}
      </section>
    </main>
  );
}

interface TokenForm {
  readonly submit: (event: SubmitEvent) => void;
  readonly busy: boolean;
  /** Whether this is the one way to sign in. */
  readonly main: boolean;
}

/** The field is read once, by the button; the token is kept for this tab only. */
function tokenForm({ submit, busy, main }: TokenForm) {
  return (
    <form onSubmit={submit}>
      <label for="token">Token</label>
      <input
        id="token"
        name="token"
        type="password"
        autocomplete="off"
        spellcheck={false}
        ref={main ? focusFirst : null}
        required
        aria-describedby="token-note"
      />
      <p id="token-note" class="soft">
        It is kept for this tab only. <code>tidemark token add</code> makes one.
      </p>
      <button class={main ? 'main' : ''} type="submit" disabled={busy}>
        {busy ? 'Signing in …' : 'Sign in'}
      </button>
    </form>
  );
}
