import { signal } from '@preact/signals-core';
import { readAccounts } from '../account-rows.ts';
import { blotterAddress, commandAddress, orderAddress } from '../address.ts';
import type { CommandRow } from '../commands/command-row.ts';
import { pause } from '../ports.ts';
import { type Answer, type Page, type RestDeps, sentenceOf } from '../rest.ts';
import type { Scope } from '../session.ts';
import { defaultView } from './blotter-view.ts';
import type { ListedOrder } from './order-row.ts';

/** One hit, and its page. */
export type Hit =
  | { readonly kind: 'order'; readonly address: string; readonly order: ListedOrder }
  | { readonly kind: 'command'; readonly address: string; readonly command: CommandRow }
  | { readonly kind: 'account'; readonly address: string; readonly accountId: string; readonly openOrders: number }
  /** The live orders, filtered by the text. */
  | { readonly kind: 'filter'; readonly address: string; readonly text: string };

interface SearchState {
  /** The text for these hits; empty: nothing was looked for. */
  readonly text: string;
  readonly isAsking: boolean;
  readonly hits: readonly Hit[];
  /** Why a part of the answer is missing. */
  readonly fault?: string;
}

const none: SearchState = { text: '', isAsking: false, hits: [] };
/** A person who types on does not ask for each letter. */
const restMs = 200;
const mostOfAKind = '6';
const mostAccounts = 4;
const askable = /^[^\p{Cc}]{2,128}$/u;

/** Finds orders, commands and accounts by any id or reference. Bounded: a few hits each. */
export class Search {
  readonly state = signal<SearchState>(none);
  private asking = new AbortController();
  private accounts: ReturnType<typeof readAccounts> | undefined;
  private readonly deps: RestDeps;
  private readonly may: (scope: Scope) => boolean;

  constructor(deps: RestDeps, may: (scope: Scope) => boolean) {
    this.deps = deps;
    this.may = may;
  }

  /** What is typed now; an answer to what was typed before is dropped. */
  async ask(typed: string): Promise<void> {
    this.close();
    const text = typed.trim();
    const { signal } = this.asking;
    if (!askable.test(text)) {
      this.state.value = none;
      return;
    }
    this.state.value = { ...this.state.peek(), isAsking: true };
    await pause(this.deps.ports, restMs, signal);
    if (signal.aborted) return;
    const parts = await Promise.all([this.commands(text, signal), this.orders(text, signal), this.accountHits(text)]);
    if (signal.aborted) return;
    const fault = parts.find((part) => part.fault !== undefined)?.fault;
    const hits = [...parts.flatMap((part) => part.hits), ...this.filterHit(text)];
    this.state.value = { text, isAsking: false, hits, ...(fault !== undefined && { fault }) };
  }

  /** Nothing is asked any more. */
  close(): void {
    this.asking.abort();
    this.asking = new AbortController();
  }

  private async commands(q: string, signal: AbortSignal): Promise<Part> {
    const answer = await this.deps.rest.get<Page<CommandRow>>('/v1/commands', { q, limit: mostOfAKind }, signal);
    return partOf(answer, ({ items }) =>
      items.map((command) => ({
        kind: 'command',
        command,
        address: commandAddress(command.commandId),
      })),
    );
  }

  private async orders(q: string, signal: AbortSignal): Promise<Part> {
    if (!this.may('orders:read')) return { hits: [] };
    const most = Number(mostOfAKind);
    const list = { q, limit: mostOfAKind };
    const answer = await this.deps.rest.getPages<Page<ListedOrder>>('/v1/orders', list, { most, signal });
    const part = partOf(answer, ({ items }) =>
      items.slice(0, most).map((order) => ({ kind: 'order', order, address: orderAddress(order) })),
    );
    const isCut = answer.kind === 'ok' && answer.body.next !== undefined && answer.body.items.length < most;
    return isCut ? { ...part, fault: 'There are more orders than it looks through: give a whole id.' } : part;
  }

  /** The list of accounts is read once for a search: it is short, and changes rarely. */
  private async accountHits(text: string): Promise<Part> {
    this.accounts ??= readAccounts(this.deps.rest);
    const answer = await this.accounts;
    if (answer.kind !== 'ok') this.accounts = undefined;
    const wanted = text.toLowerCase();
    return partOf(answer, ({ items }) => {
      const openOrders = new Map<string, number>();
      for (const item of items)
        if (item.accountId.toLowerCase().includes(wanted))
          openOrders.set(item.accountId, (openOrders.get(item.accountId) ?? 0) + item.openOrders);
      return [...openOrders].slice(0, mostAccounts).map(([accountId, open]) => ({
        kind: 'account',
        accountId,
        openOrders: open,
        address: blotterAddress({ ...defaultView, accountId }),
      }));
    });
  }

  private filterHit(text: string): Hit[] {
    if (!this.may('orders:read')) return [];
    return [{ kind: 'filter', text, address: blotterAddress({ ...defaultView, q: text }) }];
  }
}

interface Part {
  readonly hits: readonly Hit[];
  readonly fault?: string;
}

function partOf<T>(answer: Answer<T>, hitsOf: (body: T) => readonly Hit[]): Part {
  return answer.kind === 'ok' ? { hits: hitsOf(answer.body) } : { hits: [], fault: sentenceOf(answer) };
}
