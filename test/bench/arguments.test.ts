import { expect, test } from 'vitest';
import { readArguments } from '../../bench/arguments.ts';

test('without arguments every part but the profile runs, the highest rate for a minute', () => {
  const read = readArguments([]);
  expect(read).toMatchObject({ seconds: 60, knownOrders: undefined, json: undefined });
  expect(read === 'help' ? [] : [...read.only]).toEqual([
    'write',
    'kafka',
    'latency',
    'service',
    'naive',
    'commands',
    'rest',
    'pressure',
    'reconcile',
    'consoles',
    'idle',
    'stalls',
    'alone',
    'distance',
    'payloads',
    'accounts',
    'shards',
    'two-processes',
  ]);
});

test('parts, seconds, known orders and a file can be named', () => {
  const read = readArguments([
    '--only',
    'naive,service',
    '--seconds',
    '10',
    '--known-orders',
    '1000000',
    '--json',
    'out.json',
  ]);
  expect(read).toEqual({ seconds: 10, only: new Set(['naive', 'service']), knownOrders: 1_000_000, json: 'out.json' });
});

test.for([
  [['--only', 'nothing'], /no part nothing/],
  [['--seconds', '0'], /--seconds is a whole number/],
  [['--known-orders', '1e6'], /--known-orders is a whole number/],
  [['--fast'], /fast/],
] as const)('%s is refused with a sentence', ([args, sentence]) => {
  expect(() => readArguments(args)).toThrow(sentence);
});
