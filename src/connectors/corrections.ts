import type { Clock } from '../runtime/clock.ts';
import type { OrderLooks } from './order-looks.ts';
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
  private readonly deps: { readonly clock: Clock; readonly looks: OrderLooks; readonly intake: RowIntake };
  private readonly signal: AbortSignal;

  constructor(deps: { clock: Clock; looks: OrderLooks; intake: RowIntake }, options: { signal: AbortSignal }) {
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
    this.offer(second.row, second.bytes);
  }

  /** One GET, offered as what it is. Undefined: not found, not readable, or not what `like` said. */
  private async read(orderId: string, like?: ReadRow): Promise<ReadRow | undefined> {
    const look = await this.deps.looks.lookAt(orderId, { rank: 'doubt', signal: this.signal });
    if (look.kind !== 'found') return undefined;
    const { view } = look.item;
    if (like !== undefined && (like.cumQty !== view.cumQty || like.updatedAt !== view.updatedAt)) return undefined;
    return { row: look.row, bytes: look.bytes, cumQty: view.cumQty, updatedAt: view.updatedAt };
  }

  private offer(row: unknown, bytes: number): void {
    this.deps.intake.take(row, {
      cause: 'snapshot',
      receivedMs: this.deps.clock.monotonicMs(),
      bytes,
      raw: () => JSON.stringify(row),
      correction: true,
    });
  }
}

interface ReadRow {
  readonly row: unknown;
  readonly bytes: number;
  readonly cumQty: string;
  readonly updatedAt: string;
}
