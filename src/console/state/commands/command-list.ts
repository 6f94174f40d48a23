import { signal } from '@preact/signals-core';
import type { CommandResult } from '../../../../types/records.d.ts';
import { type Answer, type Failure, type Page, type RestDeps, sentenceOf } from '../rest.ts';
import {
  type CommandFilters,
  type CommandRow,
  inOrder,
  isAbout,
  isUnresolved,
  matches,
  rowOfResult,
} from './command-row.ts';

type CommandListState =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly why: string }
  | {
      readonly kind: 'shown';
      readonly rows: readonly CommandRow[];
      /**
       * The start of the next page. Absent when all are here, or when older ones were left out to
       * keep the page small.
       */
      readonly next?: string;
      readonly isCut: boolean;
      /** The last further page could not be read. */
      readonly fault?: string;
    };

const pageSize = '50';
const mostUnresolved = 1_000;
const mostRows = 1_000;
const readAgainMs = 1_000;

/** Commands as they are now: read once, then kept up by the steps on the stream. */
export class CommandList {
  readonly state = signal<CommandListState>({ kind: 'loading' });
  private readonly rows = new Map<string, CommandRow>();
  /** The newest step of each command that came during the read. */
  private readonly early = new Map<string, CommandResult>();
  private reading: AbortSignal | undefined;
  private until: AbortSignal | undefined;
  private next: string | undefined;
  private isCut = false;
  private fault: string | undefined;
  private drawing = false;
  private readingAgain = false;
  private readonly deps: RestDeps;
  private readonly filters: CommandFilters;

  constructor(deps: RestDeps, filters: CommandFilters) {
    this.deps = deps;
    this.filters = filters;
  }

  /** Reads the unresolved ones and the newest page; again after the stream began anew. */
  async load(signal: AbortSignal): Promise<void> {
    this.reading = signal;
    this.until = signal;
    const [unresolved, newest] = await Promise.all([
      this.page({ unresolved: 'true', limit: '500' }, signal, mostUnresolved),
      this.page({}, signal),
    ]);
    if (signal.aborted || this.reading !== signal) return;
    this.reading = undefined;
    if (unresolved.kind !== 'ok') return this.fail(unresolved);
    if (newest.kind !== 'ok') return this.fail(newest);
    this.rows.clear();
    this.isCut = false;
    for (const row of [...unresolved.body.items, ...newest.body.items]) this.take(row);
    this.next = newest.body.next;
    this.publish();
    for (const result of this.early.values()) this.takeResult(result);
    this.early.clear();
  }

  /** The next older page. */
  async more(signal: AbortSignal): Promise<void> {
    if (this.next === undefined) return;
    const page = await this.page({ cursor: this.next }, signal);
    if (signal.aborted) return;
    this.fault = page.kind === 'ok' ? undefined : sentenceOf(page);
    if (page.kind === 'ok') {
      for (const row of page.body.items) this.take(row);
      this.next = page.body.next;
    }
    this.publish();
  }

  /** For any command: one outside the filters is passed over. */
  takeResult(result: CommandResult): void {
    if (this.reading !== undefined) this.early.set(result.commandId, result);
    if (this.reading !== undefined || this.state.peek().kind !== 'shown') return;
    const row = rowOfResult(result);
    const fits = matches(row, this.filters);
    if (fits === undefined && !this.rows.has(row.commandId)) this.readAgain();
    else if (fits === false) this.rows.delete(row.commandId);
    else this.take(row);
    this.publishSoon();
  }

  private fail(answer: Failure): void {
    this.state.value = { kind: 'failed', why: sentenceOf(answer) };
  }

  private take(row: CommandRow): void {
    // The service finds an order's id among keys and references as well.
    if (this.filters.order !== undefined && !isAbout(row, this.filters.order)) return;
    const known = this.rows.get(row.commandId);
    if (known === undefined || row.version > known.version) this.rows.set(row.commandId, row);
  }

  private page(
    over: Readonly<Record<string, string | undefined>>,
    signal: AbortSignal,
    most = 1,
  ): Promise<Answer<Page<CommandRow>>> {
    const { order, ...filters } = this.filters;
    const query = { ...filters, ...(order !== undefined && { q: order }), limit: pageSize, ...over };
    return this.deps.rest.getPages<Page<CommandRow>>('/v1/commands', query, { most, signal });
  }

  /** Only the service knows a new command's key: it is asked, at most once a second. */
  private readAgain(): void {
    const { until } = this;
    if (this.readingAgain || until === undefined) return;
    this.readingAgain = true;
    this.deps.ports.after(readAgainMs, async () => {
      this.readingAgain = false;
      const page = await this.page({}, until);
      if (page.kind !== 'ok' || until.aborted) return;
      for (const row of page.body.items) this.take(row);
      this.publish();
    });
  }

  /** Many steps in one frame are drawn once. */
  private publishSoon(): void {
    if (this.drawing) return;
    this.drawing = true;
    this.deps.ports.frame(() => {
      this.drawing = false;
      this.publish();
    });
  }

  private publish(): void {
    if (this.reading !== undefined) return;
    this.leaveOutOldest();
    const rows = inOrder(this.rows.values());
    this.state.value = {
      kind: 'shown',
      rows,
      isCut: this.isCut,
      ...(this.next !== undefined && { next: this.next }),
      ...(this.fault !== undefined && { fault: this.fault }),
    };
  }

  /** The page stays small on a busy day. What is unresolved stays. */
  private leaveOutOldest(): void {
    if (this.rows.size <= mostRows) return;
    const resolved = inOrder(this.rows.values()).filter((row) => !isUnresolved(row));
    for (const { commandId } of resolved.slice(-(this.rows.size - mostRows))) this.rows.delete(commandId);
    this.next = undefined;
    this.isCut = true;
  }
}
