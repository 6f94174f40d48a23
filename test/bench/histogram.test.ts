import { expect, test } from 'vitest';
import { type Buckets, bucketsBetween, bucketsOf, quantile } from '../../bench/histogram.ts';
import { parseSamples } from '../../bench/prometheus-text.ts';

const scrape = parseSamples(`
latency_bucket{le="0.001",stream="account",stage="total"} 10
latency_bucket{le="0.005",stream="account",stage="total"} 90
latency_bucket{le="+Inf",stream="account",stage="total"} 100
latency_bucket{le="0.001",stream="prediction",stage="total"} 0
latency_bucket{le="0.005",stream="prediction",stage="total"} 100
latency_bucket{le="+Inf",stream="prediction",stage="total"} 100
latency_bucket{le="0.001",stream="account",stage="commit_to_ack"} 7
latency_bucket{le="+Inf",stream="account",stage="commit_to_ack"} 7
`);

test('buckets are summed over the series that have the labels', () => {
  expect(bucketsOf(scrape, 'latency', { stage: 'total' })).toEqual([
    [0.001, 10],
    [0.005, 190],
    [Number.POSITIVE_INFINITY, 200],
  ]);
});

test('between two scrapes only what was observed meanwhile counts', () => {
  const before: Buckets = [
    [1, 5],
    [Number.POSITIVE_INFINITY, 6],
  ];
  const after: Buckets = [
    [1, 5],
    [Number.POSITIVE_INFINITY, 10],
  ];
  expect(bucketsBetween(before, after)).toEqual([
    [1, 0],
    [Number.POSITIVE_INFINITY, 4],
  ]);
});

const buckets: Buckets = [
  [1, 0],
  [2, 50],
  [4, 90],
  [Number.POSITIVE_INFINITY, 100],
];

test('a quantile is interpolated in its bucket, whose bounds are told', () => {
  expect(quantile(buckets, 0.25)).toEqual({ value: 1.5, above: 1, atMost: 2 });
  expect(quantile(buckets, 0.5)).toEqual({ value: 2, above: 1, atMost: 2 });
  expect(quantile(buckets, 0.7)).toEqual({ value: 3, above: 2, atMost: 4 });
});

test('beyond the last bound only that bound is known', () => {
  expect(quantile(buckets, 0.99)).toEqual({ value: 4, above: 4, atMost: Number.POSITIVE_INFINITY });
});

test('nothing observed has no quantile', () => {
  expect(quantile([[Number.POSITIVE_INFINITY, 0]], 0.5)).toBeUndefined();
  expect(quantile([], 0.5)).toBeUndefined();
});
