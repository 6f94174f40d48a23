import { decodeCheckpoint } from '../../../src/service/log/checkpoint-writer.ts';
import type { PublishRow } from '../../../src/service/log/publisher.ts';

/**
 * What a lane has on Kafka is never ahead of its checkpoint there (docs/decisions/103): by that
 * alone a loss is found behind which others wrote on.
 */
export class CheckpointWatch {
  readonly breaches: string[] = [];
  /** By lane: the highest batch of which Kafka has a checkpoint. */
  private readonly highest = new Map<number, bigint>();

  checkpoint({ payload }: PublishRow): void {
    const seen = decodeCheckpoint(payload);
    if (seen === undefined) this.breaches.push(`a checkpoint can't be read: ${payload}`);
    else if (seen.batch > (this.highest.get(seen.lane) ?? -1n)) this.highest.set(seen.lane, seen.batch);
  }

  record({ topic, key, payload }: PublishRow, from: string): void {
    const { lane, batch } = JSON.parse(payload) as { readonly lane?: number; readonly batch?: string };
    if (lane === undefined || batch === undefined) return;
    if ((this.highest.get(lane) ?? -1n) < BigInt(batch))
      this.breaches.push(`${from}: batch ${batch} of lane ${lane} (${key}) is on ${topic} before its checkpoint`);
  }
}
