import { describe, expect, it } from 'vitest';
import { hopsOf } from '../../bench/measure-commands.ts';
import { parseSamples } from '../../bench/prometheus-text.ts';

const samplesOf = (operation: string, sum: number, count: number, codeClass = '2xx') => {
  const labels = `{operation="${operation}",code_class="${codeClass}"}`;
  const name = 'tidemark_platform_request_seconds';
  return parseSamples(`${name}_sum${labels} ${sum}\n${name}_count${labels} ${count}\n`);
};

describe('the hops between the service and the stopwatch', () => {
  it('are what the service saw beyond the stopwatch, on average, over both kinds of places', () => {
    const before = [...samplesOf('place_order', 1, 100), ...samplesOf('place_prediction_order', 1, 100)];
    const after = [...samplesOf('place_order', 1.01, 102), ...samplesOf('place_prediction_order', 1.014, 102)];
    expect(hopsOf([before, after], [4, 4, 5, 5])).toBeCloseTo(1.5, 9);
  });

  it('are of places that were accepted alone', () => {
    const before = samplesOf('place_order', 1, 100);
    const others = [...samplesOf('place_order', 9, 9, '5xx'), ...samplesOf('cancel_order', 9, 9)];
    expect(hopsOf([before, [...samplesOf('place_order', 1.01, 101), ...others]], [8])).toBeCloseTo(2, 9);
  });

  it('are nothing where no place was accepted, and never less', () => {
    const samples = samplesOf('place_order', 1, 100);
    expect(hopsOf([samples, samples], [])).toBe(0);
    expect(hopsOf([samples, samplesOf('place_order', 1.001, 101)], [5])).toBe(0);
  });
});
