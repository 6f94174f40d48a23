import { Readable } from 'node:stream';
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { z } from 'zod';
import { encodeRow } from '../exchange/encode-row.ts';
import type { ExchangeOrder } from '../exchange/exchange-order.ts';
import { faultOrder } from '../faults/fault-shapes.ts';
import { readLedger } from '../ledger/read-ledger.ts';
import { rateOf } from '../sandbox-options.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { venueChange } from '../venue/venue-settings.ts';
import { castVerbs } from './cast-verbs.ts';
import { accountChange, type ControlRefusal, type Controls, newAccount } from './controls.ts';
import { handbook } from './handbook.ts';
import { handMadeOrder } from './open-by-hand.ts';
import { orderVerb } from './order-verbs.ts';
import { readState } from './read-state.ts';

const ratePart = z.strictObject({ rate: z.union([z.number().min(0), z.literal('max')]) });
const pricePart = z.strictObject({ symbol: z.string().min(1), price: z.string().regex(/^\d{1,5}(\.\d{1,2})?$/) });
const burstPart = z.strictObject({ count: z.number().int().min(1).max(10_000_000) });
const ledgerPart = z.object({
  since: z.coerce.number().int().min(0).default(0),
  kind: z.string().optional(),
  limit: z.coerce.number().int().min(1).optional(),
});
const statePart = z.object({ stream: z.string().optional(), accountId: z.string().optional() });

export interface ControlAppDeps {
  readonly parts: SandboxParts;
  readonly controls: Controls;
  /** Ends the sandbox after the answer has gone out. */
  readonly onStop: () => void;
}

/** The control port: loopback only, no authentication, never a part of the platform (docs/platform-assumptions.md, "The sandbox's first line"). */
export function createControlApp(deps: ControlAppDeps): FastifyInstance {
  const app = Fastify({ logger: false, forceCloseConnections: true });
  // Only JSON: a web page that a developer has open cannot send that to us without asking first.
  app.removeContentTypeParser('text/plain');
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error instanceof z.ZodError ? 400 : (error.statusCode ?? 500);
    return reply.code(status).send({ error: error instanceof z.ZodError ? z.prettifyError(error) : error.message });
  });
  app.get('/', async (_request, reply) => reply.type('text/plain').send(handbook));
  faultVerbs(app, deps);
  marketVerbs(app, deps);
  castVerbs(app, deps.parts);
  accountVerbs(app, deps);
  readVerbs(app, deps);
  app.post('/stop', async (_request, reply) => {
    reply.raw.once('close', deps.onStop);
    return { stopping: true };
  });
  return app;
}

function faultVerbs(app: FastifyInstance, { parts, controls }: ControlAppDeps): void {
  app.get('/faults', async () => parts.faults.describe());
  app.post('/faults', async (request, reply) => answer(reply, controls.faults(faultOrder.parse(request.body ?? {}))));
  app.post('/heal', async () => {
    controls.heal();
    return { healed: true };
  });
}

function marketVerbs(app: FastifyInstance, { controls }: ControlAppDeps): void {
  app.post('/rate', async (request) => {
    const { rate } = ratePart.parse(request.body);
    controls.setRate(rateOf(rate));
    return { rate };
  });
  app.post('/burst', async (request) => {
    const { count } = burstPart.parse(request.body);
    controls.burst(count);
    return { count };
  });
  app.post('/venue', async (request) => controls.setVenue(venueChange.parse(request.body ?? {})));
  app.post('/prices', async (request, reply) => {
    const { symbol, price } = pricePart.parse(request.body);
    return answer(reply, controls.setPrice(symbol, Math.max(1, Math.round(Number(price) * 100))));
  });
  app.post('/day', async () => controls.endDay());
  app.post('/orders', async (request, reply) => sendOrder(reply, controls.openOrder(handMadeOrder.parse(request.body))));
  app.post<{ Params: { orderId: string } }>('/orders/:orderId', async (request, reply) =>
    sendOrder(reply, controls.moveOrder(request.params.orderId, orderVerb.parse(request.body))),
  );
}

function accountVerbs(app: FastifyInstance, { controls }: ControlAppDeps): void {
  app.post('/accounts', async (request, reply) => answer(reply, controls.openAccount(newAccount.parse(request.body))));
  app.post<{ Params: { accountId: string } }>('/accounts/:accountId', async (request, reply) =>
    answer(reply, controls.changeAccount(request.params.accountId, accountChange.parse(request.body))),
  );
}

function readVerbs(app: FastifyInstance, { parts, controls }: ControlAppDeps): void {
  app.get('/status', async () => controls.status());
  app.get('/ledger', async (request, reply) => {
    const { since, kind, limit } = ledgerPart.parse(request.query);
    const kinds = kind === undefined ? undefined : new Set(kind.split(','));
    return reply.type('application/x-ndjson').send(Readable.from(readLedger(parts.ledger, { since, kinds, limit })));
  });
  app.get('/state', async (request, reply) => {
    const filter = statePart.parse(request.query);
    return reply.type('application/x-ndjson').send(Readable.from(readState(parts.exchange, filter)));
  });
}

function sendOrder(reply: FastifyReply, result: ExchangeOrder | ControlRefusal): FastifyReply {
  if ('refused' in result) return answer(reply, result);
  return reply.type('application/json').send(encodeRow(result));
}

function answer(reply: FastifyReply, result: object | ControlRefusal): FastifyReply {
  if (!('refused' in result)) return reply.send(result);
  return reply.code(result.refused === 'not_possible' ? 409 : 404).send({ error: result.message, code: result.refused });
}
