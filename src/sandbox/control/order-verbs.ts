import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { refreshModes } from '../auth/refresh-tokens.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type ExchangeOrder, isClosed, leavesOf } from '../exchange/exchange-order.ts';
import {
  acceptOrder,
  acceptPending,
  askVenue,
  cancelOrder,
  correctFill,
  expireOrder,
  fillOrder,
  isTooLate,
  refusePending,
  rejectOrder,
  restOrder,
  resumeOrder,
  takeEndBack,
} from '../exchange/venue-steps.ts';
import { parseFixed, whole } from '../exchange/wire-text.ts';
import type { Market } from '../market/market.ts';
import { registerClient } from '../register-cast.ts';
import { clientPart, userPart } from '../sandbox-options.ts';
import type { SandboxParts } from '../sandbox-parts.ts';

const decimal = z.string().transform((text, context) => {
  const value = parseFixed(text);
  if (value !== undefined) return value;
  context.addIssue({ code: 'custom', message: 'a plain decimal string' });
  return z.NEVER;
});

/** Body of `POST /orders/{orderId}`: the venue's next step with the order. */
export const orderVerb = z.discriminatedUnion('action', [
  /** A new order works; a pending amend or cancel takes effect. */
  z.strictObject({ action: z.literal('accept') }),
  /** A new order is rejected; a pending amend or cancel is refused. */
  z.strictObject({
    action: z.literal('refuse'),
    reason: z.string().default('VENUE_REFUSED'),
    text: z.string().default('Refused by the venue'),
  }),
  /** Without `quantity` all that is left; without `price` the limit, or 1. */
  z.strictObject({ action: z.literal('fill'), quantity: decimal.optional(), price: decimal.optional() }),
  z.strictObject({ action: z.literal('cancel') }),
  z.strictObject({ action: z.literal('expire') }),
  /** An amend or a cancel is on its way to the venue, as if the owner had asked for it. */
  z.strictObject({ action: z.literal('ask_replace'), quantity: decimal.optional(), price: decimal.optional() }),
  z.strictObject({ action: z.literal('ask_cancel') }),
  z.strictObject({ action: z.literal('suspend') }),
  z.strictObject({ action: z.literal('done_for_day') }),
  z.strictObject({ action: z.literal('resume') }),
  /** A trade is taken back: cumQty falls to this. */
  z.strictObject({ action: z.literal('correct'), cumQty: decimal }),
  /** A wrong end is taken back: the order works again. */
  z.strictObject({ action: z.literal('take_back') }),
]);

export type OrderVerb = z.output<typeof orderVerb>;

/**
 * Lets the venue do it. The market leaves the order alone from then on, so that a script has it to
 * itself. Answers with why not, when the order cannot do that.
 */
export function applyOrderVerb(
  exchange: Exchange,
  market: Market,
  order: ExchangeOrder,
  verb: OrderVerb,
): string | undefined {
  const refusal = refusalOf(order, verb);
  if (refusal !== undefined) return refusal;
  market.release(order);
  doVerb({ exchange, market }, order, verb);
  return undefined;
}

function refusalOf(order: ExchangeOrder, verb: OrderVerb): string | undefined {
  if (verb.action === 'correct') return verb.cumQty < order.cumQty ? undefined : 'a correction lowers cumQty';
  if (verb.action === 'take_back')
    return isClosed(order.state) && order.state !== 'filled' ? undefined : `the order is ${order.state}`;
  if (isClosed(order.state)) return `the order is ${order.state}`;
  if (verb.action === 'fill' && leavesOf(order) === 0n) return 'nothing is left to fill';
  const waiting = order.state === 'pending_new' || order.pendingAction !== 'none';
  if ((verb.action === 'accept' || verb.action === 'refuse') && !waiting) return 'the venue has nothing to answer';
  if (verb.action === 'accept' && order.asked !== undefined && isTooLate(order, order.asked))
    return 'more was filled meanwhile than the amend would leave';
  if (verb.action === 'resume' && order.state !== 'suspended' && order.state !== 'done_for_day')
    return 'the order is not resting';
  if (verb.action === 'suspend' && order.terms.stream === 'prediction') return 'prediction orders are never suspended';
  return undefined;
}

interface Venue {
  readonly exchange: Exchange;
  readonly market: Market;
}

const doers: {
  readonly [A in OrderVerb['action']]: (
    venue: Venue,
    order: ExchangeOrder,
    verb: Extract<OrderVerb, { action: A }>,
  ) => void;
} = {
  accept: ({ exchange, market }, order) => {
    if (order.state === 'pending_new') acceptOrder(exchange, order, market.nextVenueOrderId());
    else acceptPending(exchange, order);
  },
  refuse: ({ exchange }, order, { reason, text }) => {
    if (order.state === 'pending_new') rejectOrder(exchange, order, reason, text);
    else refusePending(exchange, order, reason, text);
  },
  fill: ({ exchange }, order, { quantity, price }) =>
    fillOrder(exchange, order, quantity ?? leavesOf(order), price ?? order.workingPrice ?? whole(1)),
  cancel: ({ exchange }, order) => cancelOrder(exchange, order),
  expire: ({ exchange }, order) => expireOrder(exchange, order),
  ask_cancel: ({ exchange }, order) => askVenue(exchange, order, 'cancel'),
  ask_replace: ({ exchange }, order, { quantity, price }) => askVenue(exchange, order, 'replace', { quantity, price }),
  suspend: ({ exchange }, order) => restOrder(exchange, order, 'suspended'),
  done_for_day: ({ exchange }, order) => restOrder(exchange, order, 'done_for_day'),
  resume: ({ exchange }, order) => resumeOrder(exchange, order),
  take_back: ({ exchange }, order) => takeEndBack(exchange, order),
  correct: ({ exchange }, order, { cumQty }) => correctFill(exchange, order, cumQty),
};

function doVerb<A extends OrderVerb['action']>(
  venue: Venue,
  order: ExchangeOrder,
  verb: Extract<OrderVerb, { action: A }>,
): void {
  const doer = doers[verb.action as A];
  doer(venue, order, verb);
}

const refreshPart = z.strictObject({ mode: z.enum(refreshModes) });
const endLogins = z.strictObject({ username: z.string().optional(), clientId: z.string().optional() });

/**
 * A running sandbox's client center: users, apps and their redirect URIs, and the fate of logins.
 * An existing one is replaced.
 */
export function castVerbs(
  app: FastifyInstance,
  parts: SandboxParts,
  controls: { openUser(user: z.output<typeof userPart>): void },
): void {
  app.post('/users', async (request, reply) => {
    const user = userPart.parse(request.body);
    const taken = user.accounts.find(
      ({ id }) => (parts.exchange.accounts.get(id)?.owner ?? user.username) !== user.username,
    );
    if (taken !== undefined)
      return reply.code(409).send({ error: `the account ${taken.id} is another user's`, code: 'not_possible' });
    controls.openUser(user);
    return { username: user.username };
  });
  app.post('/clients', async (request) => {
    const client = clientPart.parse(request.body);
    registerClient(parts.directory, client);
    return { clientId: client.clientId };
  });
  app.post('/refresh-mode', async (request) => {
    const { mode } = refreshPart.parse(request.body);
    parts.refreshTokens.mode = mode;
    parts.ledger.enter('fault', { what: 'refresh_mode', mode });
    return { mode };
  });
  // As when a user takes the consent back: the next refresh is refused for good, and the access
  // tokens end now.
  app.post('/end-logins', async (request) => {
    const { username, clientId } = endLogins.parse(request.body ?? {});
    const fits = (login: { username?: string; clientId: string }) =>
      (username ?? login.username) === login.username && (clientId ?? login.clientId) === login.clientId;
    const logins = parts.refreshTokens.revoke(fits);
    const tokens = parts.tokens.revoke((principal) => principal.loginId !== undefined && fits(principal));
    parts.ledger.enter('fault', { what: 'end_logins', logins, tokens });
    return { logins, tokens };
  });
}
