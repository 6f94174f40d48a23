import { signal } from '@preact/signals-core';
import type { DeadLetterJobDocument, DeadLetterPageDocument } from '../../contract/dead-letter-bodies.ts';
import { type Filters, orderFilters } from '../../contract/list-filters.ts';
import type { FilterTexts } from './filter-address.ts';
import { type Rest, sentenceOf } from './rest.ts';
import { joined } from './text/word-text.ts';

export type DeadLetterEntry = DeadLetterPageDocument['items'][number];

const { accountId, stream } = orderFilters;

export const deadLetterFilters = {
  accountId,
  stream,
  reason: { takes: 'key', about: 'Only this reason', label: 'Reason' },
} as const satisfies Filters;

type DeadLetterFilter = FilterTexts<typeof deadLetterFilters>;
/** The filter of a job, or the rows that it names. */
export interface ChosenRows extends DeadLetterFilter {
  readonly rowIds?: readonly string[] | undefined;
}

interface ListState {
  /** Undefined: not read yet. */
  readonly items: readonly DeadLetterEntry[] | undefined;
  /**
   * There are more at the service: the next page may be read, or so many are shown that a filter is
   * needed.
   */
  readonly more: 'none' | 'page' | 'too_many';
  readonly reading: boolean;
  readonly fault: string | undefined;
}

const pageSize = 100;
/** Drawn at most: a person who has to look at more needs a filter, or a job. */
const mostRows = 1_000;

/** The matching rows, oldest first, page after page; and the reader's choice among them. */
export class DeadLetterList {
  readonly state = signal<ListState>({
    items: undefined,
    more: 'none',
    reading: false,
    fault: undefined,
  });
  readonly chosen = signal<ReadonlySet<string>>(new Set());
  private readonly rest: Rest;
  private readonly filter: DeadLetterFilter;
  private cursor: string | undefined;
  private reads = 0;

  constructor(rest: Rest, filter: DeadLetterFilter) {
    this.rest = rest;
    this.filter = filter;
  }

  /**
   * Reads again as many rows as are shown, or the first page. Rows that are gone are not chosen any
   * more.
   */
  async read(signal: AbortSignal): Promise<void> {
    await this.readUpTo(Math.max(pageSize, this.state.peek().items?.length ?? 0), [], undefined, signal);
  }

  /** Reads the next page. */
  async readMore(signal: AbortSignal): Promise<void> {
    const { items = [], reading } = this.state.peek();
    if (!reading && this.cursor !== undefined) await this.readUpTo(items.length + 1, items, this.cursor, signal);
  }

  choose(id: string, wanted: boolean): void {
    const chosen = new Set(this.chosen.peek());
    if (wanted) chosen.add(id);
    else chosen.delete(id);
    this.chosen.value = chosen;
  }

  /** All shown rows, at most as many as one job may name; or none. */
  chooseAll(wanted: boolean): void {
    const ids = (this.state.peek().items ?? []).map(({ id }) => id);
    this.chosen.value = new Set(wanted ? ids.slice(0, mostChosen) : []);
  }

  private async readUpTo(
    least: number,
    known: readonly DeadLetterEntry[],
    from: string | undefined,
    signal: AbortSignal,
  ) {
    this.reads += 1;
    const own = this.reads;
    this.state.value = { ...this.state.peek(), reading: true };
    const items = [...known];
    let cursor = from;
    do {
      const query = { ...this.filter, limit: String(pageSize), cursor };
      const page = await this.rest.get<DeadLetterPageDocument>('/v1/dead-letters', query, signal);
      // A newer read has begun: it has the say.
      if (signal.aborted || own !== this.reads) return;
      if (page.kind !== 'ok') {
        this.state.value = { ...this.state.peek(), reading: false, fault: sentenceOf(page) };
        return;
      }
      items.push(...page.body.items);
      cursor = page.body.next;
    } while (cursor !== undefined && items.length < least && items.length < mostRows);
    this.cursor = items.length < mostRows ? cursor : undefined;
    const more = cursor === undefined ? 'none' : this.cursor === undefined ? 'too_many' : 'page';
    this.state.value = { items, more, reading: false, fault: undefined };
    const there = new Set(items.map(({ id }) => id));
    this.chosen.value = new Set([...this.chosen.peek()].filter((id) => there.has(id)));
  }
}

export const mostChosen = 200;

/** The share of a job's rows with an answer, from 0 to 1. */
export function progressOf({ total, done, failed, withdrawn }: DeadLetterJobDocument): number {
  return total === 0 ? 1 : (done + failed + withdrawn) / total;
}

/** A filter in words: `stream account, reason bad_decimal`; `all rows`. */
export function filterText({ stream, accountId, reason, rowIds }: ChosenRows): string {
  const words = [
    rowIds && `${rowIds.length} chosen`,
    stream && `stream ${stream}`,
    accountId && `account ${accountId}`,
    reason && `reason ${reason}`,
  ];
  return joined(words) || 'all rows';
}
