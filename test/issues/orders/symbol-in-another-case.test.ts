// What a user saw: A place of `aapl` ended in conflict because the platform showed its order as `AAPL`.

import { describe, expect, it } from 'vitest';
import { parsePlaceAccount, parsePlacePrediction } from '../../../src/contract/command-bodies.ts';
import { bindOrder } from '../../../src/service/orders/load-known.ts';
import { placeEquity, placePrediction } from '../../support/commands/command-rig.ts';
import { equityView, predictionView } from '../../support/orders/arbitrary-orders.ts';

// A caller wrote `aapl`, the platform showed `AAPL`: the order carried our reference with "another
// symbol", and its place was a conflict.
describe('a symbol that its caller wrote in another case', () => {
  it.each([
    ['account', parsePlaceAccount, placeEquity, equityView],
    ['prediction', parsePlacePrediction, placePrediction, predictionView],
  ] as const)(
    'is journaled and sent in the case of the platform, and its order is ours: %s',
    (stream, parse, request, view) => {
      const { symbol } = request.terms;
      const body = parse({ accountId: 'acct-1', ...request.terms, symbol: symbol.toLowerCase() });
      if (!body.ok) throw new Error(JSON.stringify(body.faults));
      expect(body.terms.symbol).toBe(symbol);
      const { side } = view;
      const binding = { commandId: 'c-1', stream, accountId: 'acct-1', side };
      expect(bindOrder(view, 'tm-1', binding)).toMatchObject({ row: { matches: true } });
    },
  );
});
