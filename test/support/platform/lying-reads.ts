import type { Clock } from '../../../src/runtime/clock.ts';
import type { Http, HttpRequest, HttpResult } from '../../../src/venue/http.ts';
import type { Host } from '../../simulation/host.ts';
import type { MemoryPlatform } from '../../simulation/world/memory-platform.ts';

interface AskedRead {
  readonly atMs: number;
  readonly url: string;
}

const notFound: HttpResult = {
  kind: 'answered',
  status: 404,
  headers: {},
  text: '{"error":{"type":"not_found","code":"ORDER_NOT_FOUND","message":"no such order"}}',
};

/**
 * The platform's reads in memory, which keep some orders from everybody, show some so that they
 * cannot be read, and remember what they were asked.
 */
export class LyingReads {
  /** Ids of orders that are in no list and no GET. */
  readonly hidden = new Set<string>();
  /** Ids of orders with a row that cannot be read. */
  readonly garbled = new Set<string>();
  readonly asked: AskedRead[] = [];
  private readonly platform: MemoryPlatform;
  private readonly clock: Clock;

  constructor(deps: { platform: MemoryPlatform; clock: Clock }) {
    this.platform = deps.platform;
    this.clock = deps.clock;
  }

  client(host: Host): Http {
    const plain = this.platform.http.client(host);
    return {
      request: async (request) => {
        this.asked.push({ atMs: this.clock.monotonicMs(), url: request.url });
        return this.censor(request, await plain.request(request));
      },
      close: () => plain.close(),
    };
  }

  /** Lookups by one of our references. */
  get lookups(): AskedRead[] {
    return this.asked.filter(({ url }) => /[?&](clOrdId|clientOrderRef)=/.test(url));
  }

  /** Reads of orders, whole lists and single ones. */
  get orderReads(): AskedRead[] {
    return this.asked.filter(({ url }) => new URL(url).pathname.includes('/orders'));
  }

  private shown(row: string): string | undefined {
    const isOf = (ids: ReadonlySet<string>) => [...ids].some((id) => row.includes(`"${id}"`));
    if (isOf(this.hidden)) return undefined;
    return isOf(this.garbled) ? row.replace(/"cumQty":"[^"]*"/, '"cumQty":"?"') : row;
  }

  private censor({ url }: HttpRequest, result: HttpResult): HttpResult {
    if (this.hidden.size + this.garbled.size === 0 || result.kind !== 'answered' || result.status !== 200)
      return result;
    const single = /\/orders\/([^/?]+)/.exec(url)?.[1];
    if (single !== undefined) return this.hidden.has(decodeURIComponent(single)) ? notFound : result;
    if (!new URL(url).pathname.endsWith('/orders')) return result;
    return { ...result, text: changedRows(result.text, (row) => this.shown(row)) };
  }
}

/**
 * The page with each row changed, or without it, its other bytes as they
 * were: versions above 2^53 have to survive.
 */
function changedRows(text: string, change: (row: string) => string | undefined): string {
  const start = text.indexOf('[') + 1;
  const end = text.lastIndexOf(']');
  const rows = splitRows(text.slice(start, end));
  const kept = rows.map(change).filter((row) => row !== undefined);
  return `${text.slice(0, start)}${kept.join(',')}${text.slice(end)}`;
}

/** Objects at the top of a JSON array's inside. */
function splitRows(inside: string): string[] {
  const rows: string[] = [];
  let depth = 0;
  let from = 0;
  let quoted = false;
  for (let at = 0; at < inside.length; at += 1) {
    const char = inside[at];
    if (quoted) {
      if (char === '\\') at += 1;
      else if (char === '"') quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === '{') {
      if (depth === 0) from = at;
      depth += 1;
    } else if (char === '}') {
      depth -= 1;
      if (depth === 0) rows.push(inside.slice(from, at + 1));
    }
  }
  return rows;
}
