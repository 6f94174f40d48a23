import type { FleetDocument } from '../../../src/contract/fleet-answer.ts';
import type { HistoryDocument } from '../../../src/contract/pipeline-answers.ts';
import type { StatusDocument } from '../../../src/contract/status-answer.ts';
import type { PipelineReading } from '../../../src/service/fleet/pipeline-reading.ts';
import type { ConsumersAnswer, ServiceView } from '../../../src/service/rest/service-view.ts';
import { historyDocument } from '../../../src/service/run/service-view.ts';
import { statusDocument } from '../../../src/service/run/status-document.ts';
import type { AccountScope } from '../../../src/store/orders/order-reads.ts';
import {
  followedAccount,
  quietReading,
  type SampleStatus,
  sampledMs,
  sampleSource,
  sampleStatusParts,
} from './status-parts.ts';

/**
 * The view of a service with every kind of trouble; all of it is of
 * account ACC-1 where it is of an account.
 */
export class MemoryService implements ServiceView {
  commands: 'on' | 'off' = 'on';
  readonly streams = ['account', 'prediction'] as const;
  sample: SampleStatus = {
    reading: { updatesTopic: { rows: 3, oldestMs: sampledMs - 31_000 } },
    sources: [
      sampleSource([
        followedAccount('ACC-1', {
          state: 'down',
          absent: [{ cause: 'forgotten', orders: 1, orderIds: ['ord-1'] }],
          silentLosses: { events: 2, firstMs: sampledMs - 100_000 },
          lastError: 'of ACC-1',
        }),
      ]),
    ],
    unresolvedIn: ['ACC-1'],
    halts: [
      {
        haltId: 'h-1',
        scope: { kind: 'account', accountId: 'ACC-1' },
        cause: 'operator',
        reason: 'a',
        by: 'b',
        sinceMs: sampledMs,
      },
    ],
    deadLetters: [
      { stream: 'account', reason: 'not_json', accountId: 'ACC-1', rows: 2, oldest: new Date(sampledMs - 50_000) },
    ],
  };

  consumersAnswer: ConsumersAnswer = {
    kind: 'read',
    consumers: {
      at: new Date(sampledMs).toISOString(),
      items: [
        {
          groupId: 'risk',
          topics: [{ topic: 'tidemark.order-updates.v1', lag: '9007199254740993', partitions: 12, uncommitted: 1 }],
        },
      ],
      unread: ['other'],
      notAsked: 3,
    },
  };
  readings: readonly PipelineReading[] = [
    quietReading,
    { ...quietReading, atMs: sampledMs + 10_000, monotonicMs: 80_000, updates: 700 },
    {
      ...quietReading,
      atMs: sampledMs + 20_000,
      monotonicMs: 90_000,
      updates: 700,
      stateTopic: { rows: 2, oldestMs: sampledMs },
    },
  ];

  history(sinceMs: number | undefined): HistoryDocument {
    return historyDocument(this.readings, { everyMs: 10_000, ...(sinceMs !== undefined && { sinceMs }) });
  }

  async fleet(): Promise<FleetDocument> {
    const lane = {
      lane: 0,
      state: 'live',
      holder: 'one',
      since: new Date(sampledMs).toISOString(),
      weight: 1,
      drained: false,
      unhealthy: null,
      shards: [0],
    } as const;
    const lanes = [{ ...lane, shards: [0], address: null, version: '1' }];
    return {
      at: lane.since,
      verdict: '1 shard, 1 process, all held',
      allHeld: true,
      shards: 1,
      free: [],
      pinned: [],
      lanes,
    };
  }

  async consumers(): Promise<ConsumersAnswer> {
    return this.consumersAnswer;
  }

  status(scope: AccountScope): Promise<StatusDocument> {
    return statusDocument(sampleStatusParts(this.sample), scope);
  }
}
