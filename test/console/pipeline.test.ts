import { describe, expect, it } from 'vitest';
import { columnsOf, highestOf, pipelineHistory } from '../../src/console/state/pipeline-history.ts';
import { stepsOf, topicsOf, waitedMs } from '../../src/console/state/pipeline-steps.ts';
import type { HistorySample } from '../../src/contract/pipeline-answers.ts';
import type { StatusDocument } from '../../src/contract/status-answer.ts';
import { ConsoleRig } from '../support/rest/console-rig.ts';
import { MemoryService } from '../support/rest/memory-service.ts';

const startMs = Date.parse('2026-11-22T17:00:00Z');
const atOf = (seconds: number) => new Date(startMs + seconds * 1000).toISOString();

function sample(seconds: number, over: Partial<HistorySample> = {}): HistorySample {
  const waits = {
    ingestQueued: 0,
    ingestAgeMs: 0,
    relayRows: 0,
    relayAgeMs: 0,
    stateRows: 0,
    stateAgeMs: 0,
    resultRows: 0,
    resultAgeMs: 0,
  };
  return {
    at: atOf(seconds),
    updatesPerSecond: seconds,
    p50Ms: null,
    p99Ms: null,
    heartbeatAgeMs: 1_000,
    ...waits,
    ...over,
  };
}

describe('the lines of the pipeline', () => {
  it('are read once, then only with newer samples, for an hour', async () => {
    const rig = new ConsoleRig();
    rig.answers.set('/v1/history', { status: 200, body: { everyMs: 10_000, samples: [sample(0), sample(10)] } });
    const history = pipelineHistory(rig.state);
    const abort = new AbortController();
    void history.follow(abort.signal);
    await rig.settle();
    const since = `/v1/history?since=${encodeURIComponent(atOf(10))}`;
    rig.answers.set(since, { status: 200, body: { everyMs: 10_000, samples: [sample(3_605)] } });
    await rig.pass(10_000);
    expect(rig.asked.map(({ path }) => path)).toEqual(['/v1/history', since]);
    expect(history.state.value.value?.samples.map(({ at }) => at)).toEqual([atOf(10), atOf(3_605)]);
    abort.abort();
  });

  it('have a gap where there was no sample', () => {
    const document = { everyMs: 10_000, samples: [sample(0, { p99Ms: 4 }), sample(10), sample(50, { p99Ms: 9 })] };
    const start = startMs / 1000;
    expect(columnsOf(document, ['updatesPerSecond', 'p99Ms'])).toEqual([
      [start, start + 10, start + 20, start + 50],
      [0, 10, null, 50],
      [4, null, null, 9],
    ]);
    expect([highestOf(document, 'p99Ms'), highestOf(document, 'p50Ms')]).toEqual([9, undefined]);
  });
});

describe('the picture of the pipeline', () => {
  const read = (): Promise<StatusDocument> => new MemoryService().status({ kind: 'all' });
  const shortOf = ({ name, figure, late }: { name: string; figure: string; late?: boolean }) =>
    `${name} ${figure}${late ? ' late' : ''}`;

  it('follows the data from the sockets to each topic, and marks the place where it waits too long', async () => {
    const status = await read();
    expect(stepsOf(status).map(({ name }) => name)).toEqual(['Sockets', 'Queue', 'Batches', 'Postgres', 'Relay']);
    expect(stepsOf(status).filter(({ late }) => late)).toEqual([]);
    expect(topicsOf(status).map(shortOf)).toEqual([
      ...['Order updates and watermarks 3 late', 'Order state 0', 'Command results 0'],
    ]);
    expect(waitedMs(status.lag.relayOldest ?? '', status)).toBe(31_000);
  });

  it('marks a socket that is not connected, a queue that is full, and an observation that waits to be stored', async () => {
    const status = await read();
    const sources = status.sources.map((source) => ({ ...source, connected: false }));
    const oldest = new Date(Date.parse(status.at) - 11_000).toISOString();
    const ill = {
      ...status,
      sources,
      ingest: { queued: 9, paused: true },
      lag: { ...status.lag, ingestQueued: 9, pendingOldest: oldest },
    };
    expect(stepsOf(ill).map(shortOf).slice(0, 3)).toEqual(['Sockets 0 of 1 late', 'Queue 9 late', 'Batches 9 late']);
  });
});
