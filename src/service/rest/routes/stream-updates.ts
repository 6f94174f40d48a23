import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { StreamedEvent } from '../../../store/orders/order-reads.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import type { AuthResult } from '../auth/principal.ts';
import { accountField, streamField } from '../request-fields.ts';
import { route } from '../route.ts';
import { readStore, sendProblem } from '../send-answer.ts';
import type { TokenVerdict } from '../stream/stream-client.ts';
import { parseStreamId, ResponseSink, streamIdPattern } from '../stream/stream-event.ts';

export const streamUpdates = route({
  method: 'GET',
  path: '/v1/stream',
  operationId: 'streamUpdates',
  summary: 'Follow updates as server-sent events',
  describe:
    '`event: update` carries the record that is on Kafka; its id resumes (`Last-Event-ID`, or `after`). With `events`, `event: result` carries each step of a command as on Kafka, and `event: halt` each change of a halt; the ids then resume all three. `event: reset` tells a reader that was too slow to connect again, and one whose id is not in the log any more to read its orders anew; `event: shutdown` asks to connect again, with another token if its reason is `token_expired` or `token_revoked`. The stream begins with an id, and blocks of an id alone keep a quiet one open: they dispatch no event, and resume like any other.',
  tag: 'stream',
  scopes: ['orders:read'],
  query: z.strictObject({
    accountId: accountField.exactOptional(),
    stream: streamField.exactOptional(),
    events: z
      .enum(['result', 'halt', 'result,halt'])
      .exactOptional()
      .describe('Steps of commands, changes of halts, or both, beside updates. Halts need a token with `ops:read`'),
    after: z
      .string()
      .regex(streamIdPattern, 'must be an id of the stream')
      .exactOptional()
      .describe('As Last-Event-ID, for who cannot set headers'),
  }),
  headers: ['Last-Event-ID'],
  answers: {
    200: {
      describe: 'The stream, until one of us ends it',
      type: 'text/event-stream',
      example:
        'id: 483\nretry: 1000\n\nid: 484\nevent: update\ndata: {"eventId":"account:5450dc1c-6f0e-4f5c-9b0a-2f1f6a3f9d11:3","schema":"tidemark.order-update.v1", …}\n\n',
    },
  },
  problems: ['INVALID_EVENT_ID', 'ACCOUNT_NOT_FOUND', 'TOO_MANY_STREAMS'],
  handle: async ({ authenticator, hub, eventTail, reads }, { request, reply, principal, query }) => {
    const { accountId, stream } = query;
    const kinds = new Set((query.events?.split(',') ?? []) as StreamedEvent['kind'][]);
    if (kinds.has('halt') && !principal.scopes.has('ops:read'))
      return sendProblem(reply, 'INSUFFICIENT_SCOPE', 'halts need a token with ops:read');
    const given = request.headers['last-event-id'] ?? query.after;
    const after = given === undefined ? undefined : parseStreamId(String(given));
    // Before the database is asked: refused readers try again, and it would be asked for each.
    if (!hub.hasRoom(principal.name)) return sendFull(reply);
    const { authorization } = request.headers;
    const newest = await readStore(reads.newestSeq());
    const horizon = kinds.size === 0 ? undefined : (await readStore(reads.eventHorizon())).horizon;
    // It left during the wait, and would keep its place: its connection does not end again.
    if (reply.raw.closed) return reply.hijack();
    // Again after the wait, and the place is taken in the same turn.
    if (!hub.hasRoom(principal.name)) return sendFull(reply);
    // Its connection serves no further request: a reader that has to connect again finds it closed.
    reply.headers({
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
      connection: 'close',
    });
    reply.hijack();
    reply.raw.writeHead(200, reply.getHeaders() as Record<string, string>);
    const reader = {
      principal: principal.name,
      accounts: accountId === undefined ? principal.accounts : { kind: 'accounts' as const, accountIds: [accountId] },
      stream,
      events: horizon === undefined ? undefined : { kinds, after: after?.events ?? { tx: horizon, number: 0n } },
      judge: () => judgeAgain(authenticator, authorization),
    };
    const client = hub.open(reader, new ResponseSink(reply.raw), after?.position, newest);
    if (horizon !== undefined) eventTail.add(client);
    return undefined;
  },
});

function sendFull(reply: FastifyReply): FastifyReply {
  return sendProblem(reply.header('retry-after', '5'), 'TOO_MANY_STREAMS');
}

/** A token's rights never change, but it may end. */
function judgeAgain(
  authenticator: Authenticator,
  authorization: string | undefined,
): TokenVerdict | Promise<TokenVerdict> {
  const result = authenticator.authenticate(authorization);
  return result instanceof Promise ? result.then(verdictOf) : verdictOf(result);
}

function verdictOf(result: AuthResult): TokenVerdict {
  if (result.kind === 'principal') return 'good';
  if (result.kind === 'unavailable') return 'unknown';
  return result.reason === 'expired' ? 'expired' : 'revoked';
}
