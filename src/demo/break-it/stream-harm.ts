import { compareInstants } from '../../domain/instant.ts';
import { dropOldest } from '../../runtime/drop-oldest.ts';

/** A line in the sandbox's ledger, with the kind `change`, `event` or `session`. */
export interface LedgerLine {
  readonly seq: number;
  readonly kind: string;
  readonly step?: string;
  readonly stream?: string;
  readonly accountId?: string;
  readonly orderId?: string;
  readonly updatedAt?: string;
  readonly order?: { readonly symbol?: string };
  /** For an event: its change's `seq`. */
  readonly change?: number;
  readonly result?: string;
  /** For a session. */
  readonly what?: string;
}

/** A row in our log: an accepted change. */
export interface StoredChange {
  readonly stream: string;
  readonly orderId: string;
  readonly revision: number;
  readonly cause: string;
  readonly updatedAt: string;
  readonly certain: boolean;
}

/** How a change's message met the fault. */
type Fate = 'twice' | 'late' | 'dropped' | 'silently_lost' | 'half_open' | 'unheard' | 'unsure';

export interface HarmedChange {
  readonly stream: string;
  readonly orderId: string;
  readonly symbol: string;
  readonly updatedAt: string;
  readonly fate: Fate;
  /** This row shows that the service has the change. */
  healedBy?: StoredChange;
}

interface Followed extends Omit<HarmedChange, 'fate' | 'healedBy'> {
  readonly step: string;
  readonly results: string[];
}

/** Rows kept for one order: a row may be read before the ledger's line that it heals. */
const keptRows = 16;
const mostOrders = 20_000;

/**
 * Finds each change with a faulty message by the platform's ledger, and the row that shows it all
 * the same by our log. Pure.
 *
 * Invariant: a change counts as harmed only if no connection was sent its message in time; its
 * order's first row just as new has recovered it.
 */
export class StreamHarm {
  readonly harmed: HarmedChange[] = [];
  private readonly accounts: ReadonlySet<string>;
  private readonly waiting = new Map<number, Followed>();
  private readonly rows = new Map<string, StoredChange[]>();

  /** `accounts`: those in the service's sight. */
  constructor(accounts: ReadonlySet<string>) {
    this.accounts = accounts;
  }

  /** Harmed changes that the service does not have yet. */
  get missing(): number {
    return this.harmed.filter(({ healedBy }) => healedBy === undefined).length;
  }

  /**
   * Takes lines in the ledger's order, whole up to a moment: then no connection followed a change
   * without an event.
   */
  takeLedger(lines: readonly LedgerLine[]): void {
    for (const line of lines) {
      if (line.kind === 'change') this.follow(line);
      else if (line.kind === 'event') this.waiting.get(line.change ?? 0)?.results.push(line.result ?? '');
    }
    for (const [seq, change] of this.waiting) {
      const fate = fateOf(change);
      if (fate === 'held') continue;
      this.waiting.delete(seq);
      if (fate !== undefined) this.harmed.push({ ...change, fate });
    }
    this.heal();
  }

  takeRows(rows: readonly StoredChange[]): void {
    for (const row of rows) {
      const key = keyOf(row);
      const kept = this.rows.get(key) ?? [];
      kept.push(row);
      if (kept.length > keptRows) kept.shift();
      this.rows.set(key, kept);
    }
    dropOldest(this.rows, mostOrders);
    this.heal();
  }

  private follow({
    seq,
    step = '',
    stream = '',
    accountId = '',
    orderId = '',
    updatedAt = '',
    order,
  }: LedgerLine): void {
    if (!this.accounts.has(accountId)) return;
    this.waiting.set(seq, { step, stream, orderId, updatedAt, symbol: order?.symbol ?? '', results: [] });
  }

  private heal(): void {
    for (const change of this.harmed) {
      if (change.healedBy !== undefined) continue;
      const row = this.rows.get(keyOf(change))?.find((each) => heals(each, change));
      if (row !== undefined) change.healedBy = row;
    }
  }
}

/** Undefined: its message arrived as it should. */
function fateOf({ results, step }: Followed): Fate | 'held' | undefined {
  if (step === 'unknown_store_lost') return 'unsure';
  if (results.includes('sent_twice')) return 'twice';
  if (results.includes('sent')) return undefined;
  if (results.includes('released')) return 'late';
  if (results.includes('dropped')) return 'dropped';
  if (results.includes('held')) return 'held';
  if (results.includes('silently_lost')) return 'silently_lost';
  if (results.includes('half_open')) return 'half_open';
  return 'unheard';
}

function heals(row: StoredChange, { updatedAt, fate }: HarmedChange): boolean {
  return compareInstants(row.updatedAt, updatedAt) >= 0 && (fate !== 'unsure' || row.certain);
}

function keyOf({ stream, orderId }: { readonly stream: string; readonly orderId: string }): string {
  return `${stream}:${orderId}`;
}

const fates: Readonly<Record<Fate, string>> = {
  twice: 'its message came twice',
  late: 'its message was held back, and came after later ones',
  dropped: 'its message was lost, and then the connection broke',
  silently_lost: 'its message was lost without a sign',
  half_open: 'changed, and the message did not arrive',
  unheard: 'changed while there was no connection',
  unsure: 'the platform cannot confirm it for a while',
};

/** How a change met the fault, as a sentence that begins with its order. */
export function harmText(change: HarmedChange): string {
  return `${nameOf(change)}: ${fates[change.fate]}.`;
}

/** The service's evidence for the change. */
export function recoveryText({ fate, healedBy, ...change }: HarmedChange): string {
  if (healedBy === undefined) return `${nameOf(change)}: not here yet.`;
  return `${nameOf(change)}: ${wayOf(fate, healedBy.cause)} (revision ${healedBy.revision}).`;
}

function wayOf(fate: Fate, cause: string): string {
  if (fate === 'twice') return 'counted once';
  if (fate === 'late') return 'stored, in its right place';
  if (fate === 'unsure') return 'confirmed again, with its new number';
  if (cause === 'stream') return 'a later message brought the newest state';
  if (cause === 'snapshot') return 'found by reading the whole account';
  return 'found by reading this order';
}

function nameOf({ symbol, orderId }: Pick<HarmedChange, 'symbol' | 'orderId'>): string {
  return `${symbol} ${orderId.slice(0, 8)}`;
}
