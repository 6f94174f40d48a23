import type { IncomingMessage } from 'node:http';
import { accountTarget, streamPath } from '../../venue/platform/wire/stream-messages.ts';
import { bearerToken } from '../rest/require-scope.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { type ClientMessage, readClientMessage } from './client-message.ts';
import type { StreamProtocol } from './stream-server.ts';
import type { StreamSession } from './stream-session.ts';

type Subscription = Exclude<ClientMessage, { type: 'bad' }>;

function answerClient(parts: SandboxParts, session: StreamSession, message: ClientMessage): void {
  const refusal = message.type === 'bad' ? bad(message.message) : refusalOf(parts, session, message);
  if (refusal !== undefined) refuse(parts, session, message.id, refusal);
  else if (message.type === 'unsubscribe') {
    parts.subscriptions.remove(session, message.topic, message.accountId);
    acknowledge(parts, session, message);
  } else if (message.type === 'subscribe') subscribe(parts, session, message);
}

interface Refusal {
  readonly code: 'FORBIDDEN' | 'UNKNOWN_TARGET' | 'BAD_REQUEST';
  readonly message: string;
}

const bad = (message: string): Refusal => ({ code: 'BAD_REQUEST', message });
const notPermitted = (message: string): Refusal => ({ code: 'FORBIDDEN', message });

function refusalOf(parts: SandboxParts, session: StreamSession, message: Subscription): Refusal | undefined {
  const result = parts.directory.accountFor(session.principal, message.accountId);
  if (result.access === 'unknown') return { code: 'UNKNOWN_TARGET', message: 'There is no such account' };
  if (result.access === 'foreign') return notPermitted('This account is not yours');
  if (message.topic === 'prediction' && !result.account.predictions)
    return notPermitted('This account is not enrolled for prediction orders');
  return undefined;
}

function subscribe(parts: SandboxParts, session: StreamSession, message: Subscription): void {
  parts.eventFaults.subscribe(session, message.topic, message.accountId, {
    refuse: () => refuse(parts, session, message.id, notPermitted('Not permitted')),
    ignore: () => record(parts, session, message, 'not_acknowledged'),
    // The acknowledgement leaves before the first event: both go out in the order of these calls.
    follow: () => {
      acknowledge(parts, session, message);
      parts.subscriptions.add(session, message.topic, message.accountId);
    },
  });
}

function acknowledge(parts: SandboxParts, session: StreamSession, message: Subscription): void {
  const type = message.type === 'subscribe' ? 'subscribed' : 'unsubscribed';
  const payload = { topic: message.topic, target: accountTarget(message.accountId) };
  session.sendMessage({ type, id: message.id, timestamp: session.now(), payload });
  record(parts, session, message, type);
}

function record(parts: SandboxParts, session: StreamSession, message: Subscription, what: string): void {
  const { topic, accountId } = message;
  parts.ledger.enter('session', { session: session.number, what, topic, accountId });
}

function refuse(parts: SandboxParts, session: StreamSession, id: string | undefined, refusal: Refusal): void {
  const error = { type: 'error', timestamp: session.now(), payload: refusal };
  session.sendMessage(id === undefined ? error : { ...error, id });
  parts.ledger.enter('session', { session: session.number, what: 'refused', code: refusal.code });
}

const unauthenticated =
  '{"error":{"type":"authentication","code":"UNAUTHENTICATED","message":"The access token is missing, expired or revoked"}}';
const forbidden =
  '{"error":{"type":"forbidden","code":"FORBIDDEN","message":"The token lacks the scope order:information"}}';

/**
 * The specification's stream: a token at the upgrade, then messages that subscribe
 * (docs/platform-assumptions.md, "Order stream").
 */
export function platformProtocol(parts: SandboxParts): StreamProtocol {
  return {
    path: streamPath,
    opcode: 1,
    heartbeat: (timestamp) => ({ type: 'heartbeat', timestamp }),
    slowConsumer: (timestamp) => {
      const payload = { code: 'SLOW_CONSUMER', message: 'Too many events wait for you to read them' };
      return { type: 'error', timestamp, payload };
    },
    admit: async (request: IncomingMessage) => {
      const token = bearerToken(request.headers.authorization);
      const principal = token === undefined ? undefined : await parts.tokens.check(token);
      if (principal === undefined) return { status: 401, body: unauthenticated, token };
      return principal.scopes.has('order:information') ? principal : { status: 403, body: forbidden };
    },
    answer: (session, data, isBinary) => answerClient(parts, session, readClientMessage(data, isBinary)),
  };
}
