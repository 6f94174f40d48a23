import { signal } from '@preact/signals-core';
import type { CallerDocument } from '../../contract/status-answer.ts';
import { type Stream, streams } from '../../domain/order.ts';
import { IssuerSignIn, signedInPath } from './issuer-sign-in.ts';
import type { Ports } from './ports.ts';
import { Renewal } from './renewal.ts';
import { type Answer, type Failure, type Rest, sentenceOf } from './rest.ts';
import type { Choices } from './text/word-text.ts';

type SessionState =
  | { readonly kind: 'checking' }
  | { readonly kind: 'open'; readonly rights: Rights }
  | { readonly kind: 'signed-out'; readonly why?: string }
  | { readonly kind: 'away'; readonly why: string };

/** The token's rights. If the service asks for none (`signIn` false), a reader has them all. */
type Rights = CallerDocument;
export type Scope = 'orders:read' | 'orders:write' | 'ops:read' | 'ops:write';

const tokenShape = /^[\x21-\x7e]{1,8192}$/;
const tokenName = 'tidemark.token';
const refused = 'The token of this tab is not accepted any more.';
const askAgainMs = 2_000;
const quietName = 'tidemark.asked-quietly';
const quietEveryMs = 60_000;

/**
 * The signed-in reader. Invariant: the token leaves this tab in the `Authorization` header of
 * requests to this service only; it is never in an address, and it is forgotten when the service
 * refuses it and the issuer gives no other.
 */
export class Session {
  readonly state = signal<SessionState>({ kind: 'checking' });
  readonly issuer: IssuerSignIn;
  private readonly ports: Ports;
  private readonly rest: Rest;
  private readonly renewal: Renewal;

  constructor(ports: Ports, rest: Rest) {
    this.ports = ports;
    this.rest = rest;
    this.issuer = new IssuerSignIn(ports, rest);
    this.renewal = new Renewal(ports, this.issuer, {
      onToken: (token) => this.keep(token),
      onDue: () => void this.renew(),
    });
    rest.onRefused = (token) => this.tokenEnded(token, refused);
  }

  /** Undefined: no reader is signed in. */
  get rights(): Rights | undefined {
    const state = this.state.peek();
    return state.kind === 'open' ? state.rights : undefined;
  }

  /** Whether the token has this scope. A forbidden action has no button. */
  may(scope: Scope): boolean {
    return this.rights?.scopes.includes(scope) === true;
  }

  /** Whether orders can be placed, replaced and cancelled here, by this reader. */
  mayCommand(): boolean {
    return this.may('orders:write') && this.rights?.commands === 'on';
  }

  /** By stream: what a filter offers. */
  get streamWords(): Choices<Stream> {
    return (this.rights?.streams ?? streams).map((stream) => [stream, stream] as const);
  }

  /**
   * With the issuer's answer, with this tab's token, or with none: a service on loopback may ask
   * for none.
   */
  async start(): Promise<void> {
    const { path, query } = this.ports.page.address();
    if (path === signedInPath && !(await this.finish(new URLSearchParams(query)))) return;
    const token = this.ports.tabStore.read(tokenName);
    this.rest.token = token;
    this.renewal.restore(token);
    const answer = await this.readRights();
    if (answer.kind === 'ok') this.open(answer.body);
    else if (!isRefusal(answer)) {
      this.state.value = { kind: 'away', why: reasonOf(answer) };
      this.ports.after(askAgainMs, () => void this.start());
    } else if (token === undefined) this.signOut();
    else await this.tokenEnded(token, refused);
  }

  /** With a typed token. Resolves with the reason when it is refused. */
  async signIn(text: string): Promise<string | undefined> {
    const token = text.trim();
    if (!tokenShape.test(token)) return 'A token is one word of visible characters.';
    this.rest.token = token;
    const answer = await this.readRights();
    if (answer.kind !== 'ok') {
      this.rest.token = undefined;
      return isRefusal(answer) ? 'The service does not accept this token.' : reasonOf(answer);
    }
    this.keep(token);
    this.open(answer.body);
    return undefined;
  }

  /**
   * Leaves for the issuer, and comes back to the present screen. Resolves with the reason if that
   * cannot be.
   */
  signInAtIssuer(): Promise<string | undefined> {
    const { path, query } = this.ports.page.address();
    return this.issuer.begin(path + query);
  }

  /** By the reader, or with the reason. */
  signOut(why?: string): void {
    this.rest.token = undefined;
    this.ports.tabStore.forget(tokenName);
    const refreshToken = this.renewal.forget();
    this.end(why);
    if (refreshToken !== undefined) void this.issuer.revoke(refreshToken);
  }

  /**
   * The service refused `token`. Resolves with whether there is another
   * one; without one the reader is signed out.
   */
  async tokenEnded(token: string, why: string): Promise<boolean> {
    // Another request had the same answer before.
    if (this.rest.token !== token) return this.rest.token !== undefined;
    const { ofIssuer } = this.renewal;
    const renewed = await this.renew();
    if (renewed === 'ok') return true;
    if (this.rest.token === undefined) return false;
    this.signOut(renewed === 'later' ? `${why} The issuer gives no new one now.` : why);
    if (ofIssuer && renewed === 'over') this.ports.page.whenSeen(() => void this.askQuietly());
    return false;
  }

  /** The next token, and its rights, which may be others. */
  private async renew(): Promise<'ok' | 'over' | 'later'> {
    const renewed = await this.renewal.renew();
    if (renewed !== 'ok') return renewed;
    const answer = await this.readRights();
    if (isRefusal(answer)) return 'over';
    if (answer.kind === 'ok') this.open(answer.body);
    return 'ok';
  }

  private open(rights: Rights): void {
    const before = this.state.peek();
    if (before.kind === 'open') {
      if (JSON.stringify(before.rights) === JSON.stringify(rights)) return;
      // Other rights: nothing seen with the last token stays.
      this.end();
    }
    this.state.value = { kind: 'open', rights };
  }

  private end(why?: string): void {
    this.rest.signOuts += 1;
    this.state.value = { kind: 'signed-out', ...(why !== undefined && { why }) };
  }

  /** Resolves with whether `start` goes on: the reader is signed in, or was before. */
  private async finish(query: URLSearchParams): Promise<boolean> {
    const before = this.ports.tabStore.read(tokenName);
    const finished = await this.issuer.finish(query);
    this.ports.page.show(finished.returnTo);
    if (finished.kind === 'ok') this.renewal.adopt(finished.grant);
    else if (before === undefined) this.signOut(finished.why);
    return finished.kind === 'ok' || before !== undefined;
  }

  /**
   * The issuer may still know the reader: then it sends the next token without a question. At most
   * once a minute, or a refused token would lead in a circle.
   */
  private async askQuietly(): Promise<void> {
    const { page, tabStore, nowMs } = this.ports;
    const last = Number(tabStore.read(quietName) ?? 0);
    if (this.state.peek().kind !== 'signed-out' || nowMs() - last < quietEveryMs) return;
    tabStore.write(quietName, String(nowMs()));
    const { path, query } = page.address();
    await this.issuer.begin(path + query, { quiet: true });
  }

  private keep(token: string): void {
    this.rest.token = token;
    this.ports.tabStore.write(tokenName, token);
  }

  private readRights(): Promise<Answer<Rights>> {
    return this.rest.probe('/v1/me');
  }
}

function isRefusal(answer: Answer<unknown>): boolean {
  return answer.kind === 'problem' && answer.status === 401;
}

function reasonOf(answer: Failure): string {
  if (answer.kind === 'problem' && answer.status === 403) return 'This token has no rights here.';
  return sentenceOf(answer);
}
