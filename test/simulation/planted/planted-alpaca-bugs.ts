import { formatInstant } from '../../../src/domain/instant.ts';
import type { OrderView } from '../../../src/domain/order.ts';
import { traits } from '../../../src/domain/streams.ts';
import { AccountReader } from '../../../src/service/sources/account-reader.ts';
import { Connectors } from '../../../src/service/sources/connectors.ts';
import type { ReadProgress } from '../../../src/service/sources/read-progress.ts';
import type { HttpResult } from '../../../src/venue/http.ts';
import { KeySource } from '../../../src/venue/key-source.ts';
import type { ListRequest, OrderReads, Page } from '../../../src/venue/order-reads.ts';
import { RequestBudget } from '../../../src/venue/request-budget.ts';
import type { StreamProtocol, VenueStream } from '../../../src/venue/venue.ts';
import { passing } from '../passing.ts';
import { alpacaName } from '../venues/alpaca-stream.ts';
import type { PlantedBug } from './planted-bug.ts';
import { judging, missing, verdict } from './planted-command-bugs.ts';
import { entering, withStatus } from './planted-sending-bugs.ts';
import { instead, replaced } from './replaced.ts';

type Deps = NonNullable<PlantedBug['deps']>;

/** Another value of the same trait, for the time of a run. */
function asTrait(changed: Partial<Record<keyof (typeof traits)['alpaca_paper'], unknown>>): () => () => void {
  return () => {
    const own = { ...traits[alpacaName] };
    Object.assign(traits[alpacaName], changed);
    return () => Object.assign(traits[alpacaName], own);
  };
}

/** Reads of each process in another way. */
function reading(change: (own: OrderReads) => Partial<OrderReads>): Deps {
  return ({ platform }) => {
    const { venue } = platform;
    const orderReads: typeof venue.orderReads = (...made) => {
      const own = venue.orderReads(...made);
      return { ...own, ...change(own) };
    };
    return { platform: instead(platform, { venue: instead(venue, { orderReads }) }) };
  };
}

/** Lists with their pages as `change` makes them; it is asked anew for each list. */
function paging(change: () => (page: Page) => Page): Deps {
  return reading((own) => ({
    listOrders: (request, onPage, ...rest) => {
      const changed = change();
      return own.listOrders(request, (page) => onPage(changed(page)), ...rest);
    },
  }));
}

/** Lists that are asked for in another way. */
function asking(change: (request: ListRequest) => ListRequest): Deps {
  return reading((own) => ({ listOrders: (request, ...rest) => own.listOrders(change(request), ...rest) }));
}

/** Events of the stream with another view. */
function seeing(change: (view: OrderView) => Partial<OrderView>) {
  return (): ReturnType<Deps> => ({
    intoIngest: (sink) =>
      passing(sink, (item) => {
        if (item.kind !== 'order' || item.cause !== 'stream') return item;
        return { ...item, view: { ...item.view, ...change(item.view) } as OrderView };
      }),
  });
}

/** A stream that is read in another way. */
function speaking(change: (protocol: StreamProtocol) => Partial<StreamProtocol>): Deps {
  return ({ platform }) => {
    const [[stream, own]] = Object.entries(platform.venue.venue) as [[typeof alpacaName, VenueStream]];
    const changed = { ...own, protocol: { ...own.protocol, ...change(own.protocol) } };
    return { platform: instead(platform, { venue: instead(platform.venue, { venue: { [stream]: changed } }) }) };
  };
}

type Remembering = { remember(progress: ReadProgress): Promise<void> };
const reader = AccountReader as unknown as { readonly prototype: Remembering };
const { remember } = reader.prototype;

const submittedMs = (row: unknown) => Math.floor(Date.parse((row as { submitted_at: string }).submitted_at));

/** Mistakes with lists by creation. */
const lists: readonly PlantedBug[] = [
  {
    name: 'the mark of a list is the time at which it was read, by our clock, which is fast',
    shows: /not healed: alpaca_paper:.* was never seen/,
    plant: replaced(reader, 'remember', function (this: Remembering, progress: ReadProgress) {
      const startedMs = progress.startedMs + 3_600_000;
      return remember.call(this, { ...progress, startedMs, highest: formatInstant(startedMs) });
    }),
  },
  {
    name: 'an order that is open here and in neither list is not asked for',
    shows: /not healed: alpaca_paper:.*: status is/,
    deps: ({ database }) => ({
      database: { ...database, accounts: (lease) => ({ ...database.accounts(lease), openOrders: async () => [] }) },
    }),
  },
  {
    name: 'an order that has ended is not asked for where its fills are taken back, as if a list showed it',
    shows: /not healed: alpaca_paper:.*: (cumQty|avgPrice|updatedAt) is/,
    deps: reading(() => ({ touchedOrders: async ({ after }) => ({ kind: 'read', orders: [], upTo: after }) })),
  },
  {
    name: 'a page of a list is lost',
    shows: /was never seen|not healed: alpaca_paper:/,
    deps: paging(() => {
      let pages = 0;
      return (page) => {
        pages += 1;
        return pages === 2 ? { ...page, rows: [] } : page;
      };
    }),
  },
  {
    name: 'a page begins behind the last row of the page before, and loses those of the same time',
    shows: /was never seen/,
    deps: paging(() => {
      let lastMs = 0;
      return ({ rows, bytes }) => {
        const left = rows.filter((row) => submittedMs(row) > lastMs);
        lastMs = Math.max(lastMs, ...rows.map(submittedMs));
        return { rows: left, bytes };
      };
    }),
  },
  {
    name: 'a mark is stored before the rows of its list are',
    shows: /rows of lists not settled|was never seen/,
    deps: () => ({
      intoGuard: (sink) =>
        instead(
          passing(sink, (item) => item),
          { committed: async () => undefined },
        ),
    }),
  },
];

/** Mistakes with frames that name no account, and orders that are replaced by others. */
const frames: readonly PlantedBug[] = [
  {
    name: 'the account of a former key pair is followed by the frames of this one',
    shows: /accountId is acct-former|acct-former is live|not healed/,
    plant: asTrait({ namesAccount: true }),
  },
  {
    name: 'an acknowledgement without the topic is taken for one with it',
    shows: /is live, and no subscription of it was ever acknowledged/,
    deps: speaking(({ read }) => ({
      read: (text) => {
        const frame = read(text);
        return frame.kind === 'unsubscribed' ? { kind: 'subscribed' } : frame;
      },
    })),
  },
  {
    name: 'an event that comes late is as new as its arrival, and overwrites what a list has shown',
    shows: /: (updatedAt|pendingAction|status|workingQuantity) is/,
    deps: ({ host }) =>
      seeing(({ updatedAt }) => {
        const nowMs = host.clock.nowMs();
        return Date.parse(updatedAt) < nowMs - 500 ? { updatedAt: formatInstant(nowMs) } : {};
      })(),
  },
  {
    name: 'a partial fill that comes again is counted again',
    seed: 79,
    shows: /cumQty is/,
    deps: () => {
      const seen = new Map<string, { readonly at: string; readonly before: number; readonly cum: number }>();
      return seeing(({ orderId, updatedAt, status, cumQty }) => {
        const last = seen.get(orderId);
        if (last?.at === updatedAt && status === 'partially_filled')
          return { cumQty: String(last.cum + last.cum - last.before) };
        seen.set(orderId, { at: updatedAt, before: last?.cum ?? 0, cum: Number(cumQty) });
        return {};
      })();
    },
  },
  {
    name: 'an order that replaces another one is taken for that order',
    shows: /was never seen/,
    deps: () => ({
      intoIngest: (sink) =>
        passing(sink, (item) => {
          const elder = item.kind === 'order' ? item.view.replaces : undefined;
          if (item.kind !== 'order' || elder === undefined) return item;
          return { ...item, view: { ...item.view, orderId: elder } };
        }),
    }),
  },
];

/** Mistakes with writes, and with the look-up by our own id. */
const writes: readonly PlantedBug[] = [
  {
    name: 'a 504 is taken for a write that was not sent, as the official client does',
    shows: /though attempt|was done 2 times|it was sent/,
    deps: entering((result) => withStatus(result, 504, (reason) => ({ kind: 'not_sent', reason, mayRepeat: true }))),
  },
  {
    name: '"client_order_id must be unique" is taken for a refusal',
    shows: /becomes refused: it is|is refused, and is done/,
    deps: entering((result) =>
      result.kind === 'unknown' && result.reason.message.includes('unique')
        ? { kind: 'refused', reason: result.reason }
        : result,
    ),
  },
  {
    name: 'a place is sent under the client_order_id of a place that seemed to come to nothing',
    shows: /becomes applied: it was not done|is bound to/,
    deps: () => {
      const free = new Map<string, string>();
      return {
        wrapEntry: (entry) => ({
          send: async (request, attemptId, options) => {
            const id = (request.kind === 'place' && free.get(request.accountId)) || attemptId;
            const result = await entry.send(request, id, options);
            if (request.kind === 'place' && result.kind !== 'accepted') free.set(request.accountId, id);
            else free.delete(request.accountId);
            return result;
          },
        }),
      };
    },
  },
  {
    name: 'an order is looked up by a reference that it was not sent under',
    shows: /counts a read as one that missed/,
    deps: asking((request) => ({ ...request, ...(request.reference && { reference: `${request.reference}-1` }) })),
  },
  {
    name: 'a look-up that finds nothing presumes a place absent at once',
    shows: /is presumed absent after/,
    deps: missing((miss) => ({ ...miss, to: 'unknown', misses: 1, presumedAbsent: true })),
  },
  {
    name: 'a 204 is taken for an order that was canceled',
    shows: /\(cancel\) becomes applied: the order is/,
    plant: judging('cancel', (finding, command) =>
      finding.kind === 'nothing' && command.state === 'accepted'
        ? verdict('applied', { orderId: command.orderId ?? 'none' })
        : finding,
    ),
  },
];

/** Mistakes with a replace that makes a new order. */
const replaces: readonly PlantedBug[] = [
  {
    name: 'the old order, pending to be replaced, counts as the replace',
    shows: /\(replace\) becomes applied: it/,
    plant: judging('replace', (finding, command, entry) =>
      finding.kind === 'nothing' && entry.updates.some(({ order }) => order.pendingAction === 'replace')
        ? verdict('applied', { orderId: command.orderId ?? 'none' })
        : finding,
    ),
  },
];

const { saw } = RequestBudget.prototype;

/** Mistakes with the number of requests that a venue takes. */
const requests: readonly PlantedBug[] = [
  {
    name: 'requests go on where none is left',
    shows: /though its last answer was that no request is left/,
    plant: replaced(RequestBudget, 'take', () => undefined),
  },
  {
    name: 'the count of the venue is not read',
    shows: /though its last answer was that no request is left/,
    plant: replaced(RequestBudget, 'saw', () => undefined),
  },
  {
    name: 'requests go on after a 429 where some are left',
    shows: /though the venue answered 429/,
    plant: replaced(RequestBudget, 'saw', function (this: RequestBudget, result: HttpResult) {
      saw.call(this, result.kind === 'answered' ? { ...result, status: 200 } : result);
    }),
  },
];

type Leaving = { readonly logins: Map<string, unknown> };

/** Mistakes with key pairs that users link and remove while processes run. */
const keys: readonly PlantedBug[] = [
  {
    name: 'a key pair that was linked in place of another is not used',
    shows: /not healed/,
    plant: replaced(KeySource, 'isReplaced', async () => false),
  },
  {
    name: 'the sources of a removed key pair go on',
    shows: /connections are left open|leaves \d+ (timers|calls) behind|not healed/,
    plant: replaced(Connectors, 'remove', async function (this: Connectors, name: string) {
      (this as unknown as Leaving).logins.delete(name);
    }),
  },
];

/** Mistakes that one could make at Alpaca, and hardly at the platform of the specification. */
export const plantedAlpacaBugs: readonly PlantedBug[] = [
  ...lists,
  ...frames,
  ...writes,
  ...replaces,
  ...requests,
  ...keys,
].map((bug) => ({
  ...bug,
  venue: 'alpaca',
}));
