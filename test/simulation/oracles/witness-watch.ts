import type { PublishRow } from '../../../src/service/log/publisher.ts';
import { decodeWitness } from '../../../src/service/log/witness-writer.ts';

/**
 * What a lane has on Kafka is never ahead of its witness there (docs/decisions/103): by that alone
 * a loss is found behind which others wrote on.
 */
export class WitnessWatch {
  readonly breaches: string[] = [];
  /** By lane: the highest batch of which Kafka has a witness. */
  private readonly highest = new Map<number, bigint>();

  witness({ payload }: PublishRow): void {
    const seen = decodeWitness(payload);
    if (seen === undefined) this.breaches.push(`a witness can't be read: ${payload}`);
    else if (seen.batch > (this.highest.get(seen.lane) ?? -1n)) this.highest.set(seen.lane, seen.batch);
  }

  record({ topic, key, payload }: PublishRow, from: string): void {
    const { lane, batch } = JSON.parse(payload) as { readonly lane?: number; readonly batch?: string };
    if (lane === undefined || batch === undefined) return;
    if ((this.highest.get(lane) ?? -1n) < BigInt(batch))
      this.breaches.push(`${from}: batch ${batch} of lane ${lane} (${key}) is on ${topic} before its witness`);
  }
}
