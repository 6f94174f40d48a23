import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type CpuProfile, shareTime } from '../../bench/profile-shares.ts';

const totals = (shares: ReturnType<typeof shareTime>) =>
  Object.fromEntries([...shares].map(([part, { total }]) => [part, total]));
const frame = (functionName: string, url = '') => ({ functionName, url });
const profile: CpuProfile = {
  startTime: 1000,
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 3, 4] },
    { id: 2, callFrame: frame('applyBatch', 'file:///app/src/store/apply-batch.ts'), children: [5] },
    { id: 3, callFrame: frame('(garbage collector)') },
    { id: 4, callFrame: frame('processTimers', 'node:internal/timers') },
    { id: 5, callFrame: frame('write', 'node:buffer') },
  ],
  samples: [2, 5, 3, 4, 5],
  timeDeltas: [10, 20, 30, 40, 50],
};

test("time is put down to the nearest code of ours, Node's own functions to whoever called them", () => {
  const shares = shareTime(profile, { fromMicros: 0, untilMicros: 10_000 });
  expect(totals(shares)).toEqual({ statement: 80, 'garbage collector': 30, other: 40 });
});

test('only samples within the window count', () => {
  const shares = shareTime(profile, { fromMicros: 1025, untilMicros: 1070 });
  expect(totals(shares)).toEqual({ statement: 20, 'garbage collector': 30 });
});

test('a stretch of a part ends where another one begins', () => {
  const { statement } = Object.fromEntries(shareTime(profile, { fromMicros: 0, untilMicros: 10_000 }));
  expect(statement).toEqual({ total: 80, longest: 50 });
});

test('a wait for a core within a part makes its stretch no longer than a sample', () => {
  const waited = { ...profile, samples: [2, 2], timeDeltas: [10, 30_000] };
  const { statement } = Object.fromEntries(shareTime(waited, { fromMicros: 0, untilMicros: 100_000 }));
  expect(statement).toEqual({ total: 30_010, longest: 2010 });
});

test.each([
  ['service/log', 'log-publisher.ts', 'send to the log topic'],
  ['service/log', 'state-writer.ts', 'send to the state topic'],
  ['service/log/kafkajs', 'encode-produce.ts', 'kafkajs'],
  ['service/log', 'relay.ts', 'relay'],
  ['service/orders', 'batch-pipeline.ts', 'ingest'],
  ['venue/platform', 'decode-frame.ts', 'parse and decode'],
  ['service/sources', 'decode-order.ts', 'parse and decode'],
  ['service/sources', 'audit.ts', 'audits'],
  ['store/orders', 'apply-batch.ts', 'statement'],
])('time in src/%s/%s is put down to: %s', (room, file, part) => {
  expect(readdirSync(`src/${room}`)).toContain(file);
  const one: CpuProfile = {
    startTime: 0,
    nodes: [{ id: 1, callFrame: frame('work', `file:///app/src/${room}/${file}`) }],
    samples: [1],
    timeDeltas: [10],
  };
  expect([...shareTime(one, { fromMicros: 0, untilMicros: 100 })]).toEqual([[part, { total: 10, longest: 10 }]]);
});
