import type { Config } from '../../config/config.ts';
import { EventLoopWatch } from '../../observability/event-loop-watch.ts';
import { SharedClock } from '../../runtime/shared-clock.ts';
import { databaseTimeMs } from '../../store/session/database-clock.ts';
import { ClockWatch } from './clock-watch.ts';
import { Housekeeping } from './housekeeping.ts';
import type { KafkaParts } from './kafka-parts.ts';
import { ReplacedTopics } from './replaced-topics.ts';
import { SchemaGate } from './schema-gate.ts';
import type { BaseParts } from './shared-parts.ts';
import type { StoreParts } from './store-parts.ts';
import { TopicsCheck } from './topics-check.ts';

interface Stored extends BaseParts {
  readonly store: StoreParts;
  readonly kafka: KafkaParts;
}

export interface Watched extends Stored {
  readonly watches: ReturnType<typeof watchParts>;
}

const hourMs = 3_600_000;

export const housekeepingTimes = { maintainEveryMs: 60_000, countEveryMs: 15_000 };

/** Every process's watches over database, topics and clocks, with or without a lane. */
export function watchParts({ store, kafka, ...shared }: Stored, config: Config) {
  const { clock, log } = shared;
  const metrics = shared.metrics.process;
  const { pool, partitionRows, published } = store;
  const sharedClock = new SharedClock(clock);
  return {
    eventLoop: new EventLoopWatch({ clock }, { sampleEveryMs: 500, lateMs: 1000, lateInARow: 10 }),
    schema: new SchemaGate({ pool, log }),
    housekeeping: new Housekeeping(
      { ...shared, pool },
      {
        partitionRows,
        retentionMs: config.retentionDays * 24 * hourMs,
        budgetBytes: config.databaseBudgetMb * 1_000_000,
        ...housekeepingTimes,
      },
    ),
    topics: new TopicsCheck({ clock, ask: kafka.checkTopics, metrics }),
    replaced: new ReplacedTopics({ clock, log, findTopics: kafka.findTopics, published, metrics }),
    clocks: new ClockWatch({ clock, log, metrics, databaseMs: () => sharedClock.read(() => databaseTimeMs(pool)) }),
    sharedClock,
  };
}
