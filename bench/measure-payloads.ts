import { randomBytes } from 'node:crypto';
import type { Cleanup } from './cleanup.ts';
import { measureKafkaPath } from './kafka-path.ts';
import { loadAt, settle } from './measure-service.ts';
import type { RealRows } from './real-rows.ts';
import { readStoredSizes } from './service-process.ts';
import type { Stack } from './stack.ts';
import { withService } from './with-service.ts';
import { measureWritePath } from './write-path.ts';

export interface PayloadFigures {
  readonly payloadBytes: number;
  readonly writePerSecond: number;
  readonly kafkaPerSecond: number;
  /**
   * The whole service, unpaced, and the size of its records as stored. Absent below the size that a
   * record of an order has by itself.
   */
  readonly service?: { readonly perSecond: number; readonly payloadBytes: number };
}

/** The bare paths and the whole service with records of other sizes. */
export async function measurePayloads(
  cleanup: Cleanup,
  stack: Stack,
  real: RealRows,
  {
    sizes,
    ownBytes,
    seconds,
  }: { readonly sizes: readonly number[]; readonly ownBytes: number; readonly seconds: number },
): Promise<readonly PayloadFigures[]> {
  const figures: PayloadFigures[] = [];
  for (const payloadBytes of sizes) {
    const { rows, records } = resized(real, payloadBytes / ownBytes);
    const write = await measureWritePath({ url: stack.postgres.url, seconds, rows });
    const kafka = await measureKafkaPath({ brokers: stack.kafka.brokers, seconds, payloadBytes, rows: records });
    const service =
      payloadBytes < ownBytes ? undefined : await unpaced(cleanup, stack, payloadBytes - ownBytes, seconds);
    figures.push({
      payloadBytes,
      writePerSecond: write.rowsPerSecond,
      kafkaPerSecond: kafka.messagesPerSecond,
      ...(service === undefined ? {} : { service }),
    });
  }
  return figures;
}

function unpaced(
  cleanup: Cleanup,
  stack: Stack,
  longerBy: number,
  seconds: number,
): Promise<PayloadFigures['service']> {
  return withService(cleanup, stack, { part: 'payloads', load: { longerBy } }, async (watched) => {
    const { publishedPerSecond } = await loadAt(watched, 'max', seconds);
    await settle(watched);
    const { payloadBytes } = await readStoredSizes(watched.service.databaseUrl);
    return { perSecond: publishedPerSecond, payloadBytes };
  });
}

function resized({ rows, records }: RealRows, factor: number): RealRows {
  return {
    rows: rows.map(({ head, update }) => ({
      head: { ...head, state: textOf(head.state.length * factor) },
      update: { ...update, payload: textOf(update.payload.length * factor) },
    })),
    records: records.map((record) => ({ ...record, payload: textOf(record.payload.length * factor) })),
  };
}

/** JSON of that length which does not compress: beyond 2 kB Postgres would make it small. */
function textOf(length: number): string {
  const frame = '{"text":""}';
  const rest = Math.max(0, Math.round(length) - frame.length);
  return `{"text":"${randomBytes(rest).toString('base64url').slice(0, rest)}"}`;
}
