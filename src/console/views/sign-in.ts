import { useState } from 'preact/hooks';
import { html } from '../parts/html.ts';
import type { Session } from '../state/session.ts';

interface SignInProps {
  readonly session: Session;
  readonly why: string | undefined;
}

/** Asks for a token. The field is read once, by the button; the token is kept for this tab only. */
export function SignIn({ session, why }: SignInProps) {
  const [fault, setFault] = useState<string | undefined>(why);
  const [busy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const token = new FormData(event.target as HTMLFormElement).get('token');
    setBusy(true);
    setFault(await session.signIn(String(token ?? '')));
    setBusy(false);
  };
  return html`<main class="sign-in">
    <form onSubmit=${submit}>
      <h1>Tidemark</h1>
      <label for="token">Token</label>
      <input id="token" name="token" type="password" autocomplete="off" spellcheck=${false} autofocus required aria-describedby="token-note" />
      <p id="token-note" class="soft">It is kept for this tab only. <code>tidemark token add</code> makes one.</p>
      ${fault !== undefined && html`<p class="fault" role="alert">${fault}</p>`}
      <button class="main" type="submit" disabled=${busy}>${busy ? 'Signing in …' : 'Sign in'}</button>
    </form>
  </main>`;
}
