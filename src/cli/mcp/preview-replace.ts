import { z } from 'zod';
import { decimalText, instantText, platformIdText, positiveDecimal } from '../../contract/body-fields.ts';
import { accountTimeInForce, predictionTimeInForce, supersedes } from '../../contract/command-bodies.ts';
import { orderPath } from '../../contract/order-path.ts';
import { parseReplace, parseReplaceAccount } from '../../contract/replace-bodies.ts';
import { type NewTerms, replaceBodyOf, termsOf } from '../../contract/replace-terms.ts';
import type { ReplaceTerms } from '../../domain/command.ts';
import type { Stream } from '../../domain/order.ts';
import { present } from '../../domain/present.ts';
import { traits } from '../../domain/streams.ts';
import type { ListedOrder } from '../io/order-text.ts';
import {
  annotations,
  callerThatTrades,
  checked,
  type Draft,
  judgedBy,
  nothingSent,
  ownOrder,
  preview,
  scopes,
} from './previews.ts';
import { streamOfOrder, tool } from './tool.ts';
import { ToolError } from './tool-answer.ts';

/**
 * One tool for every stream, with the names in list_orders. The rules of a stream are looked at
 * once it is known: a fault then names its field alone, and not the shapes of other streams.
 */
export const previewReplace = tool({
  name: 'preview_replace',
  title: 'Preview new terms of an order',
  description: `Checks new terms of a working order, and shows each change, the limits and everything that would refuse it now. Terms that are left out stay. The commit is refused if the order has changed since the preview. ${nothingSent}`,
  scopes,
  annotations,
  input: z.strictObject({
    stream: streamOfOrder,
    orderId: platformIdText,
    accountId: platformIdText,
    quantity: positiveDecimal.optional().describe('The new total, filled part included'),
    price: decimalText.optional(),
    stopPrice: positiveDecimal.optional(),
    // preview_place has the one spelling, and orders are shown with the other.
    timeInForce: z.enum([...predictionTimeInForce.options, ...accountTimeInForce.options]).optional(),
    expireTime: instantText.optional().describe('Of a gtd order on a prediction market'),
    supersedes,
  }),
  run: async (
    session,
    { stream, orderId, accountId, supersedes: named, stopPrice: stopPx, timeInForce, ...others },
  ) => {
    const terms: NewTerms = present({ ...others, stopPx, timeInForce: timeInForce?.toLowerCase() });
    const body = present({ ...replaceBodyOf({ stream, accountId }, terms), supersedes: named });
    const asked = parsedFor(stream, body);
    const client = session.client();
    await callerThatTrades(client);
    const order = await ownOrder(client, stream, orderId, accountId);
    // The reader has not seen a later revision: its replace would be another decision.
    const headers = { 'if-match': `"${order.revision}"` };
    const request = { method: 'PATCH', path: orderPath({ stream, orderId }), body, headers } as const;
    return preview(session, client, {
      kind: 'replace',
      stream,
      accountId,
      symbol: order.order.instrument.symbol,
      terms: { ...asked.terms },
      request,
      order,
      changes: changesOf(order, asked.terms),
      worth: await judgedBy(client, request),
    });
  },
});

function parsedFor(stream: Stream, body: unknown) {
  if (traits[stream].replaces === 'no')
    throw new ToolError(
      'NOT_REPLACEABLE',
      `no order of the stream ${stream} can be replaced: cancel it, and place another once its cancel is applied`,
    );
  return checked(traits[stream].market === 'predictions' ? parseReplace(body) : parseReplaceAccount(body), nameOfTool);
}

/** The requests name two terms in their own way. */
function nameOfTool(term: string): string {
  return { qty: 'quantity', stopPx: 'stopPrice' }[term] ?? term;
}

function changesOf({ order }: ListedOrder, terms: ReplaceTerms): NonNullable<Draft['changes']> {
  const now = new Map(termsOf(order).map((term) => [term.name as string, term.now]));
  return Object.entries(terms).flatMap(([name, to]) => {
    const from = now.get(name);
    if (from === to) return [];
    return [{ term: nameOfTool(name), to, ...(from !== undefined && from !== '' && { from }) }];
  });
}
