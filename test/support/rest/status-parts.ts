import type { PipelineReading } from '../../../src/service/fleet/pipeline-reading.ts';
import type { StatusParts } from '../../../src/service/run/status-document.ts';
import type { AccountStatus } from '../../../src/service/sources/source-status.ts';
import type { AccountScope } from '../../../src/store/orders/order-reads.ts';

/** When the sample was taken. */
export const sampledMs = 1_795_000_000_000;

export const quietReading: PipelineReading = {
  atMs: sampledMs,
  monotonicMs: 70_000,
  updates: 600,
  latency: [],
  ingest: { rows: 0 },
  updatesTopic: { rows: 0 },
  stateTopic: { rows: 0 },
  resultsTopic: { rows: 0 },
  heartbeatMs: sampledMs - 5_000,
};

export function followedAccount(accountId: string, over: Partial<AccountStatus> = {}): AccountStatus {
  return {
    accountId,
    state: 'live',
    sinceMs: sampledMs - 60_000,
    sourceEpoch: 0,
    unrecovered: 0,
    inDoubt: 0,
    absent: [],
    silentLosses: { events: 0 },
    ...over,
  };
}

type Source = ReturnType<StatusParts['sources']['status']>[number];

export function sampleSource(accounts: readonly AccountStatus[], over: Partial<Source> = {}): Source {
  return { credential: 'client', stream: 'account', connected: true, paused: false, accounts, ...over };
}

export interface SampleStatus {
  readonly state?: StatusParts['keeper']['state'];
  readonly mayAct?: boolean;
  readonly holder?: string | undefined;
  readonly reading?: Partial<PipelineReading>;
  readonly sources?: readonly Source[];
  /** One unresolved command each. */
  readonly unresolvedIn?: readonly string[];
  readonly halts?: ReturnType<StatusParts['commands']['operator']['halts']['list']>;
  readonly deadLetters?: ReturnType<StatusParts['deadLetters']>;
}

/**
 * The parts of a service that holds its lane and follows account
 * ACC-1, all well, with what a test changes.
 */
export function sampleStatusParts(over: SampleStatus = {}): StatusParts {
  const { state = 'held', mayAct = true, reading = {}, halts = [], unresolvedIn = [], deadLetters = [] } = over;
  const holder = 'holder' in over ? over.holder : 'one';
  const { sources = [sampleSource([followedAccount('ACC-1')])] } = over;
  const unresolvedOf = (scope: AccountScope) =>
    unresolvedIn.filter((accountId) => scope.kind === 'all' || scope.accountIds.includes(accountId)).length;
  return {
    clock: { nowMs: () => sampledMs } as StatusParts['clock'],
    version: '1.2.3',
    instance: 'one',
    fencedByKafka: () => 0,
    fleet: () => ({
      ...{ others: 0, unassigned: { rows: 0 }, drained: false, unhealthy: undefined },
      ...{ anyFollows: true, unfollowed: 0, unusableLogins: 0 },
    }),
    keeper: {
      state,
      view: { holder, epoch: 3n, sinceMs: sampledMs - 90_000, takeover: undefined, takeovers: 1, fenced: 0 },
    },
    lease: { lane: 1, mayAct: () => mayAct },
    ingest: { depth: 0, full: false },
    relay: { status: () => ({ source: 'memory', acknowledgedSeq: '484', heldRows: 0 }) },
    sources: {
      status: () => sources,
      unfollowed: [],
      unlisted: [],
    },
    credentials: {
      status: () =>
        [...new Set(sources.map(({ credential }) => credential))].map((credential) => ({
          credential,
          state: 'held' as const,
        })),
    },
    commands: {
      status: (scope = { kind: 'all' }) => ({
        enabled: true,
        leading: state === 'held',
        unresolved: unresolvedOf(scope),
        oldestUnresolvedMs: unresolvedOf(scope) === 0 ? undefined : sampledMs - 7_000,
      }),
      operator: { halts: { list: () => halts } },
    },
    deadLetters: () => deadLetters,
    readPipeline: async () => ({ ...quietReading, ...reading }),
    ratesUpTo: () => ({ updatesPerSecond: 12.5, p50Ms: 4.2, p99Ms: 9.7 }),
  };
}
