import { z } from 'zod';
import type { Stream } from '../../domain/order.ts';
import { updatePage } from '../../schema/rest-answers.ts';
import { limitField, pageDefault } from '../query-fields.ts';
import { readStore } from '../read-store.ts';
import { route } from '../route.ts';
import { sendJsonText, sendMissing } from '../send-answer.ts';

export const listUpdates = route({
  method: 'GET',
  path: '/v1/orders/{stream}/{orderId}/updates',
  operationId: 'listOrderUpdates',
  summary: 'Read the history of one order',
  describe: 'Every accepted change by revision, as it stands on Kafka, as far back as the log is kept.',
  tag: 'orders',
  scopes: ['orders:read'],
  params: { stream: 'stream', orderId: 'orderId' },
  query: z.strictObject({
    after: z
      .string()
      .regex(/^(?:0|[1-9]\d{0,8})$/, 'must be a revision')
      .transform(Number)
      .exactOptional()
      .describe('Only revisions above this one')
      .meta({ type: 'integer', minimum: 0, pattern: undefined }),
    limit: limitField,
  }),
  answers: { 200: { describe: 'A page of updates', schema: updatePage } },
  problems: { 404: ['ORDER_NOT_FOUND'] },
  handle: async ({ reads }, { reply, principal, params, query }) => {
    const { stream = '', orderId = '' } = params;
    const { after = 0, limit = pageDefault } = query;
    // One more than asked for tells whether there is a next page.
    const found = await readStore(reads.history(principal.accounts, stream as Stream, orderId, after, limit + 1));
    if (found === undefined) return sendMissing(reply, 'ORDER_NOT_FOUND');
    const payloads = found.slice(0, limit).map(({ payload }) => payload);
    const last = found.length > limit ? payloads.at(-1) : undefined;
    const next = last === undefined ? '' : `,"next":"${revisionOf(last)}"`;
    return sendJsonText(reply, 200, `{"items":[${payloads.join(',')}]${next}}`);
  },
});

function revisionOf(payload: string): number {
  return (JSON.parse(payload) as { readonly revision: number }).revision;
}
