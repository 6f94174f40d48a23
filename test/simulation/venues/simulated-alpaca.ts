import { Secret } from '../../../src/runtime/secret.ts';
import { noteActivity } from '../../../src/sandbox/alpaca/activities.ts';
import { alpacaWords } from '../../../src/sandbox/alpaca/alpaca-words.ts';
import { keysOf } from '../../../src/sandbox/alpaca/api-keys.ts';
import { followGroup } from '../../../src/sandbox/alpaca/order-groups.ts';
import { VenueOrderEntry } from '../../../src/service/run/order-entry.ts';
import { alpacaReads as ownReads } from '../../../src/venue/alpaca/alpaca-reads.ts';
import { alpacaVenue } from '../../../src/venue/alpaca/alpaca-venue.ts';
import { writeAlpacaOrder } from '../../../src/venue/alpaca/alpaca-writes.ts';
import { keyPairSource } from '../../../src/venue/alpaca/key-source.ts';
import { alpacaEntry } from './alpaca-entry.ts';
import { alpacaReads } from './alpaca-rest.ts';
import { alpacaName, alpacaStream } from './alpaca-stream.ts';
import { expectedAlpacaOrder } from './expected-alpaca-order.ts';
import type { SimulatedVenue } from './simulated-venue.ts';

const url = 'http://alpaca';

/** Alpaca's trading API. Each account has a key pair, so a login of its own. */
export const simulatedAlpaca: SimulatedVenue = {
  name: 'alpaca',
  streamOf: () => alpacaName,
  words: alpacaWords,
  market: { predictionShare: 0, successorShare: 1, maxLegs: 1 },
  answersEveryOrder: true,
  changed: (entry, order, step) => {
    noteActivity(order, step);
    followGroup(entry, order, step);
  },
  knowsSymbols: true,
  hasPredictions: false,
  hasKeys: true,
  listsAccounts: false,
  formerAccount: 'acct-former',
  stream: alpacaStream,
  reads: alpacaReads,
  entry: alpacaEntry,
  // No symbol changes, an amend in the app has a reference of its own, and a contract no legs.
  surprises: ['taken_back', 'coarse'],
  expected: expectedAlpacaOrder,
  venue: { [alpacaName]: alpacaVenue[alpacaName] },
  streamUrls: { [alpacaName]: 'ws://alpaca' },
  credentials: ({ host, accountIds }) => {
    const source = (id: string) => {
      const { keyId, secretKey } = keysOf({ id });
      return keyPairSource(host.clock, { keyId, secretKey: new Secret(secretKey) });
    };
    // A key pair has no end, so nothing is renewed ahead of it.
    return { logins: new Map(accountIds.map((id) => [id, source(id)])), renewAhead: () => undefined };
  },
  loginOf: (accountId) => accountId,
  orderReads: (deps, pageRows) => {
    const own = ownReads(deps, { url, isPaper: true });
    return {
      ...own,
      listOrders: (request, ...rest) =>
        own.listOrders({ ...request, pageRows: Math.min(request.pageRows ?? pageRows, pageRows) }, ...rest),
    };
  },
  orderEntry: (deps) => new VenueOrderEntry(deps, { url }, writeAlpacaOrder),
};
