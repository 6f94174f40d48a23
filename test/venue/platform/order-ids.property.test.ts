import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import type { Stream } from '../../../src/domain/order.ts';
import { decodeOrder } from '../../../src/service/sources/decode-order.ts';
import { parseJson } from '../../../src/venue/parse-json.ts';
import { accountRow, predictionRow, rowText } from '../../../src/venue/platform/fixtures/rows.ts';
import { platformReads } from '../../../src/venue/platform/platform-reads.ts';
import { platformVenue } from '../../../src/venue/platform/platform-venue.ts';
import { fixedToken, writeDeps, writeTo } from '../../support/commands/order-writes.ts';
import { idsInReach } from '../../support/orders/odd-ids.ts';
import { platformDeps } from '../../support/platform/platform-deps.ts';
import { scriptedServer } from '../../support/servers/http-server.ts';

const signal = new AbortController().signal;

/** The platform's own words for one order, or its answer to a request about it. */
function shown(stream: Stream, orderId: string, accountId: string): string {
  if (stream === 'account') return rowText({ ...accountRow, ordId: orderId, accountId });
  return rowText({ ...predictionRow, orderId, accountId }, '7');
}

/** A platform that knows one order, and answers about no other. */
async function platformOf(known: () => { stream: Stream; orderId: string; accountId: string }) {
  const server = await scriptedServer(({ path }, response) => {
    const { stream, orderId, accountId } = known();
    const { pathname, searchParams } = new URL(path, 'http://platform');
    const names = decodeURIComponent(pathname.replace(/^\/v1\/(?:predictions\/)?orders\//, ''));
    // Also by the plain rule for an address, which knows no `+` for a blank. A replace names the
    // account in its body.
    const plain = /accountId=([^&]*)/.exec(path)?.[1];
    const accounts = plain === undefined ? [] : [decodeURIComponent(plain), searchParams.get('accountId')];
    const isThis = names === orderId && accounts.every((account) => account === accountId);
    const row = shown(stream, orderId, accountId);
    response.writeHead(isThis ? 200 : 404, { 'content-type': 'application/json' });
    response.end(isThis ? (stream === 'account' ? row : `{"success":true,"data":${row}}`) : '{}');
  });
  onTestFinished(server.close);
  return server.url;
}

it('an order under any id that the platform shows is read, looked at, cancelled and replaced under the very same id', async () => {
  let known = { stream: 'account' as Stream, orderId: '', accountId: '' };
  const url = await platformOf(() => known);
  const deps = writeDeps();
  const reads = { ...platformDeps(url), tokens: fixedToken() };
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('account' as const, 'prediction' as const),
      idsInReach(),
      idsInReach(),
      async (stream, orderId, accountId) => {
        known = { stream, orderId, accountId };
        const origin = {
          venue: platformVenue,
          stream,
          accountId,
          cause: 'stream',
          sourceEpoch: 0,
          observedAtMs: 0,
          receivedMs: 0,
          bytes: 1,
        } as const;
        const read = (row: unknown) => decodeOrder(row, origin, () => '');
        expect(read(parseJson(shown(stream, orderId, accountId)))).toMatchObject({ view: { orderId, accountId } });
        const look = await platformReads(reads, { platformUrl: url, stagingUrl: url }).getOrder(
          stream,
          accountId,
          orderId,
          signal,
        );
        if (look.kind !== 'found') expect.fail(JSON.stringify(look));
        expect(read(look.row)).toMatchObject({ view: { orderId, accountId } });
        const named = { stream, accountId, orderId };
        expect(await writeTo(deps, url, { kind: 'cancel', ...named }, 'tm-1')).toMatchObject({ kind: 'accepted' });
        if (stream === 'account') return;
        const replace = { kind: 'replace', ...named, stream, terms: { price: '0.5' } } as const;
        expect(await writeTo(deps, url, replace, 'tm-2')).toMatchObject({ kind: 'accepted' });
      },
    ),
    { numRuns: 150 },
  );
});
