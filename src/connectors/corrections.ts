import type { Observation } from '../domain/observation.ts';
import type { Clock } from '../runtime/clock.ts';
import type { AccountReader } from './account-reader.ts';
import type { RowIntake } from './row-intake.ts';

const settleMs = 2_000;
const spacingMs = 5_000;
const maxCandidates = 20;

/**
 * Finds trade corrections on account orders, the one way for cumQty to fall (reconciliation.md): a row of a list was stale, though the stream did not
 * deliver anything newer meanwhile. Two complete GETs, 2 s apart, that agree are offered as a correction; the reducer, which alone knows what we hold,
 * takes it for one only when it is newer and its cumQty lower, and for an ordinary view otherwise.
 *
 * States: idle → checking one order at a time, 5 s apart. Candidates beyond 20 are dropped: the next audit meets them again.
 */
export class Corrections {
  private readonly candidates = new Set<string>();
  private running = false;
  private readonly deps: { readonly clock: Clock; readonly reader: AccountReader; readonly intake: RowIntake };
  private readonly signal: AbortSignal;

  constructor(deps: { clock: Clock; reader: AccountReader; intake: RowIntake }, options: { signal: AbortSignal }) {
    this.deps = deps;
    this.signal = options.signal;
  }

  suspect(orderId: string): void {
    if (this.candidates.size >= maxCandidates || this.signal.aborted) return;
    this.candidates.add(orderId);
    if (!this.running) void this.run();
  }

  private async run(): Promise<void> {
    this.running = true;
    for (const orderId of this.candidates) {
      if (this.signal.aborted) break;
      await this.check(orderId);
      this.candidates.delete(orderId);
      await this.deps.clock.sleep(spacingMs, this.signal);
    }
    this.running = false;
  }

  private async check(orderId: string): Promise<void> {
    const first = await this.read(orderId);
    if (first === undefined) return;
    await this.deps.clock.sleep(settleMs, this.signal);
    const second = await this.read(orderId, first);
    if (second === undefined) return;
    // The two agree: the second is offered once more, now as the confirmed one.
    this.offer(second.row, second.bytes, true);
  }

  /** One GET, offered as what it is. Undefined: not found, not readable, or not what `like` said. */
  private async read(orderId: string, like?: ReadRow): Promise<ReadRow | undefined> {
    const answer = await this.deps.reader.get(orderId);
    if (answer.kind !== 'found' || this.signal.aborted) return undefined;
    const view = this.offer(answer.row, answer.bytes, false)?.view;
    if (view === undefined || view.orderId !== orderId) return undefined;
    if (like !== undefined && (like.cumQty !== view.cumQty || like.updatedAt !== view.updatedAt)) return undefined;
    return { row: answer.row, bytes: answer.bytes, cumQty: view.cumQty, updatedAt: view.updatedAt };
  }

  private offer(row: unknown, bytes: number, confirmed: boolean): Observation | undefined {
    const item = this.deps.intake.take(row, {
      cause: 'snapshot',
      receivedMs: this.deps.clock.monotonicMs(),
      bytes,
      raw: () => JSON.stringify(row),
      ...(confirmed && { correction: true as const }),
    });
    return item.kind === 'order' ? item : undefined;
  }
}

interface ReadRow {
  readonly row: unknown;
  readonly bytes: number;
  readonly cumQty: string;
  readonly updatedAt: string;
}
