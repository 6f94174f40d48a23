import { expect, test } from 'vitest';
import { parseSamples, sumOf } from '../../bench/prometheus-text.ts';

const text = `# HELP a_total A
# TYPE a_total counter
a_total{topic="updates",result="acknowledged"} 12
a_total{topic="updates",result="failed"} 1
a_total{topic="state",result="acknowledged"} 5
up 1
h_bucket{le="+Inf"} 3
odd{text="a \\"quoted, brace}"} 1.5e3
`;

test('a scrape is read as names, labels and values, comments passed over', () => {
  expect(parseSamples(text)).toHaveLength(6);
  expect(parseSamples(text).at(-1)).toEqual({ name: 'odd', labels: { text: 'a \\"quoted, brace}' }, value: 1500 });
});

test('series are summed over the labels that were not asked for', () => {
  const samples = parseSamples(text);
  expect(sumOf(samples, 'a_total', { result: 'acknowledged' })).toBe(17);
  expect(sumOf(samples, 'a_total', { topic: 'updates' })).toBe(13);
  expect(sumOf(samples, 'up')).toBe(1);
});

test('a series that is not there counts as 0', () => {
  expect(sumOf(parseSamples(text), 'b_total')).toBe(0);
});
