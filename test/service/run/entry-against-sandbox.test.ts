import { describe, expect, it, onTestFinished } from 'vitest';
import type { CommandRequest } from '../../../src/domain/command.ts';
import { orderKey } from '../../../src/domain/order.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { ByteBudget } from '../../../src/runtime/byte-budget.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import type { EntryAccounts } from '../../../src/service/run/platform-parts.ts';
import { Connectors } from '../../../src/service/sources/connectors.ts';
import { wsSocketFactory } from '../../../src/service/sources/ws-socket.ts';
import { platformReads } from '../../../src/venue/platform/platform-reads.ts';
import { platformVenue } from '../../../src/venue/platform/platform-venue.ts';
import { SocketWriteLines } from '../../../src/venue/platform/socket-write-lines.ts';
import { enrolled, limitOrder, orderClient, predictionOrder } from '../../support/commands/order-entry.ts';
import { platformEntry } from '../../support/commands/platform-entry.ts';
import { ReducingSink } from '../../support/orders/reducing-sink.ts';
import { platformDeps } from '../../support/platform/platform-deps.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog } from '../../support/runs/silent-log.ts';

/**
 * Order entry and probes as `serve` joins them, over connectors
 * that follow the sandbox on real sockets.
 */
async function tradingClient() {
  const client = await orderClient();
  const { platform, staging, stream, stagingStream, clientId, clientSecret } = client.at;
  const deps = platformDeps(platform, { clientId, clientSecret });
  const { tokens } = deps;
  const sink = new ReducingSink(systemClock);
  const metrics = createMetrics();
  const connectors = new Connectors(
    {
      clock: systemClock,
      random: seededRandom(5),
      registry: sink,
      sink,
      metrics: metrics.source,
      log: silentLog,
      openSocket: wsSocketFactory(systemClock),
      budget: new ByteBudget({ maxBytes: 64_000_000 }),
    },
    { streamUrls: { account: stream, prediction: stagingStream } },
  );
  const reads = platformReads(deps, { platformUrl: platform, stagingUrl: staging });
  connectors.add('client', { venue: platformVenue, reads, tokens, log: silentLog });
  await connectors.begin();
  onTestFinished(() => connectors.end());
  const accounts: EntryAccounts = {
    hasListed: true,
    tokensFor: () => tokens,
    account: (...account) => connectors.account(...account),
  };
  const lines = new SocketWriteLines({ clock: systemClock });
  const entry = platformEntry(
    { accounts, lines, clock: systemClock, metrics: metrics.platform },
    { platformUrl: platform, stagingUrl: staging },
  );
  await eventually(() => {
    for (const each of ['account', 'prediction'] as const) expect(connectors.account(each, enrolled)?.live).toBe(true);
  });
  const { signal } = new AbortController();
  const send = (request: CommandRequest, attemptId: string) =>
    entry.send(request, attemptId, { mayWrite: async () => true, mayStillWrite: () => true, signal });
  return { client, send, accounts, sink, signal };
}

const { accountId: _account, ...equity } = limitOrder;
const { accountId: _member, ...forecast } = predictionOrder;
const places = [
  { kind: 'place', stream: 'account', accountId: enrolled, terms: equity },
  { kind: 'place', stream: 'prediction', accountId: enrolled, terms: { ...forecast, price: '0.4' } },
] as const satisfies CommandRequest[];

describe('order entry and probes against the sandbox', () => {
  it('place, replace and cancel, and every order that an answer shows is known by then', async () => {
    const { client, send, accounts, sink, signal } = await tradingClient();
    const [equityPlace, forecastPlace] = places;
    expect(await send(equityPlace, 'tm-a')).toMatchObject({
      kind: 'accepted',
      answer: { clOrdId: 'tm-a', success: true },
    });
    const placed = await send(forecastPlace, 'tm-p');
    expect(placed).toMatchObject({ kind: 'accepted', answer: { clientOrderRef: 'tm-p', state: 'pending_new' } });
    const orderId = placed.kind === 'accepted' ? String(placed.answer['orderId']) : '';
    expect(sink.heads.get(orderKey('prediction', orderId))?.order.clientOrderRef).toBe('tm-p');

    await eventually(async () => expect((await client.order('prediction', orderId)).state).toBe('new'));
    const change = {
      kind: 'replace',
      stream: 'prediction',
      accountId: enrolled,
      orderId,
      terms: { quantity: '20' },
    } as const;
    expect(await send(change, 'tm-r')).toMatchObject({
      kind: 'accepted',
      answer: { orderId, pendingAction: 'replace' },
    });
    await eventually(async () => expect((await client.order('prediction', orderId)).pendingAction).toBe('none'));
    const look = await accounts.account('account', enrolled)?.lookFor('tm-a', signal);
    const [ordId = ''] = look?.complete ? look.shown : [];
    for (const cancel of [
      { kind: 'cancel', stream: 'account', accountId: enrolled, orderId: ordId },
      { kind: 'cancel', stream: 'prediction', accountId: enrolled, orderId },
    ] as const)
      expect(await send(cancel, 'tm-c')).toMatchObject({
        kind: 'accepted',
        answer: { [cancel.stream === 'account' ? 'ordId' : 'orderId']: cancel.orderId },
      });
    const accepted = (await client.decisions()).filter((line) => line.decision === 'accepted');
    expect(accepted).toHaveLength(5);
  });

  it.each(places)(
    'tell of a 504 on $stream orders nothing, and a probe then whether it had landed',
    async (request) => {
      const { client, send, accounts, sink, signal } = await tradingClient();
      const account = accounts.account(request.stream, enrolled);
      for (const [applied, attemptId] of [
        ['yes', 'tm-landed'],
        ['no', 'tm-lost'],
      ] as const) {
        await client.fault({ fault: 'outcome_unknown', applied, delayMs: 0, times: 1 });
        expect(await send(request, attemptId)).toMatchObject({ kind: 'unknown' });
        const landed = applied === 'yes';
        const look = await account?.lookFor(attemptId, signal);
        expect(look).toMatchObject({ complete: true, certain: true, shown: landed ? [expect.any(String)] : [] });
        const whole = await account?.lookAtAll(undefined, signal);
        expect(whole).toMatchObject({ complete: true });
        const known = [...sink.heads.values()].filter(
          ({ order }) => (order.stream === 'account' ? order.clOrdId : order.clientOrderRef) === attemptId,
        );
        expect(known).toHaveLength(landed ? 1 : 0);
      }
    },
  );
});
