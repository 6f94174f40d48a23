import { z } from 'zod';
import { orderStatuses } from '../../domain/order.ts';
import { orderPage } from '../../schema/rest-answers.ts';
import { orderText } from '../order-text.ts';
import { accountField, cursorField, limitField, optionalFlag, pageDefault, streamField } from '../query-fields.ts';
import { readStore } from '../read-store.ts';
import { route } from '../route.ts';

export const listOrders = route({
  method: 'GET',
  path: '/v1/orders',
  operationId: 'listOrders',
  summary: 'List orders',
  describe: 'The newest state of each order, by stream and order id.',
  tag: 'orders',
  scopes: ['orders:read'],
  query: z.strictObject({
    stream: streamField.exactOptional(),
    accountId: accountField.exactOptional(),
    symbol: z
      .string()
      .regex(/^[!-~]{1,64}$/, 'must be 1 to 64 visible ASCII characters')
      .exactOptional(),
    status: z.enum(orderStatuses).exactOptional(),
    open: optionalFlag.describe('Only orders that may still change, or only those that are over'),
    limit: limitField,
    cursor: cursorField,
  }),
  answers: { 200: { describe: 'A page of orders', schema: orderPage } },
  problems: { 400: ['INVALID_CURSOR'], 404: ['ACCOUNT_NOT_FOUND'] },
  handle: ({ reads, pages }, call) => {
    const { limit = pageDefault, cursor, ...filter } = call.query;
    const read = (after: readonly string[] | undefined) =>
      readStore(reads.listOrders(call.principal.accounts, filter, after, limit));
    return pages.send(call, { list: 'orders', filter, cursor }, read, orderText);
  },
});
