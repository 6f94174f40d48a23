import { type Signal, signal } from '@preact/signals-core';
import type { CallerDocument } from '../../schema/status-answer.ts';
import type { Ports } from './ports.ts';
import { type Answer, type Rest, sentenceOf } from './rest.ts';

type SessionState =
  | { readonly kind: 'checking' }
  | { readonly kind: 'open'; readonly rights: Rights }
  | { readonly kind: 'signed-out'; readonly why?: string }
  | { readonly kind: 'away'; readonly why: string };

/** The rights of the token. Where the service asks for none (`signIn` false), a reader has them all. */
type Rights = CallerDocument;
export type Scope = 'orders:read' | 'orders:write' | 'ops:read' | 'ops:write';

const tokenShape = /^[\x21-\x7e]{1,8192}$/;
const askAgainMs = 2_000;

/**
 * Who is signed in. Invariant: the token leaves this tab in the `Authorization` header of requests to this service only; it is never in an address, and it is
 * forgotten when the service refuses it.
 */
export class Session {
  readonly state: Signal<SessionState> = signal<SessionState>({ kind: 'checking' });
  private readonly ports: Ports;
  private readonly rest: Rest;

  constructor(ports: Ports, rest: Rest) {
    this.ports = ports;
    this.rest = rest;
  }

  /** Whether the token has this scope. A deed that it may not do has no button. */
  may(scope: Scope): boolean {
    const state = this.state.peek();
    return state.kind === 'open' && state.rights.scopes.includes(scope);
  }

  /** With the token that this tab kept, or with none: a service on loopback may ask for none. */
  async start(): Promise<void> {
    this.rest.token = this.ports.tokenKeeper.read();
    const given = this.rest.token !== undefined;
    const answer = await this.tryToken();
    if (answer.kind === 'ok') this.state.value = { kind: 'open', rights: answer.body };
    else if (isRefusal(answer)) this.signOut(given ? 'The token of this tab is not accepted any more.' : undefined);
    else {
      this.state.value = { kind: 'away', why: reasonOf(answer) };
      this.ports.after(askAgainMs, () => void this.start());
    }
  }

  /** Resolves with the reason when the token is not taken. */
  async signIn(text: string): Promise<string | undefined> {
    const token = text.trim();
    if (!tokenShape.test(token)) return 'A token is one word of visible characters.';
    this.rest.token = token;
    const answer = await this.tryToken();
    if (answer.kind !== 'ok') {
      this.rest.token = undefined;
      return isRefusal(answer) ? 'The service does not accept this token.' : reasonOf(answer);
    }
    this.ports.tokenKeeper.write(token);
    this.state.value = { kind: 'open', rights: answer.body };
    return undefined;
  }

  signOut(why?: string): void {
    this.rest.token = undefined;
    this.ports.tokenKeeper.forget();
    this.state.value = { kind: 'signed-out', ...(why !== undefined && { why }) };
  }

  private tryToken(): Promise<Answer<Rights>> {
    return this.rest.get('/v1/me');
  }
}

function isRefusal(answer: Answer<unknown>): boolean {
  return answer.kind === 'problem' && answer.status === 401;
}

function reasonOf(answer: Exclude<Answer<unknown>, { kind: 'ok' }>): string {
  if (answer.kind === 'problem' && answer.status === 403) return 'This token has no rights here.';
  return sentenceOf(answer);
}
