import { expect, test } from 'vitest';
import { readArguments } from '../../bench/arguments.ts';

test('without arguments every part but the profile runs, the highest rate for a minute', () => {
  const read = readArguments([]);
  expect(read).toMatchObject({ seconds: 60, vs: undefined, json: undefined });
  expect(read === 'help' ? [] : [...read.only]).toEqual([
    'start',
    'write',
    'kafka',
    'statement',
    'latency',
    'service',
    'naive',
    'commands',
    'watched',
    'rest',
    'console',
    'idle',
    'stalls',
  ]);
});

test('parts, seconds, another commit and a file can be named', () => {
  const read = readArguments(['--only', 'naive,service', '--seconds', '10', '--vs', 'HEAD~1', '--json', 'out.json']);
  expect(read).toEqual({ seconds: 10, only: new Set(['naive', 'service']), vs: 'HEAD~1', json: 'out.json' });
});

test.for([
  [['--only', 'nothing'], /no part nothing/],
  [['--seconds', '0'], /--seconds is a whole number/],
  [['--fast'], /fast/],
] as const)('%s is refused with a sentence', ([args, sentence]) => {
  expect(() => readArguments(args)).toThrow(sentence);
});
