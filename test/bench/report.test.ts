import { expect, test } from 'vitest';
import { type Figure, isMet, meanFigures } from '../../bench/figure.ts';
import { printReport, type Report, sectionsOf } from '../../bench/report.ts';

const machine = { cpu: 'a processor', cores: 2, memoryGb: 8, loadBefore: 0, versions: {}, durability: {} };

function reportOf(builds: readonly string[], turns: Report['turns']): Report {
  return { at: '2026-11-26T09:00:00.000Z', command: 'npm run bench', machine, settings: {}, builds, turns };
}

const service = (build: string, rate: number) => ({
  part: 'service' as const,
  build,
  figures: [{ name: 'sustained, updates/s', value: rate }],
});
const kafka = (rate: number) => ({
  part: 'kafka' as const,
  build: 'ours',
  figures: [{ name: 'bare kafkajs, records/s', value: rate }],
});

test('a figure of several turns is their mean, and says each of them', () => {
  const of = (value: number): Figure[] => [{ name: 'rows/s', value, atLeast: 10 }];
  expect(meanFigures([of(10), of(20)])).toEqual([{ name: 'rows/s', value: 15, atLeast: 10, note: '10 and 20' }]);
});

test('a figure is met at its bound and missed beyond it, on either side', () => {
  const of = (bounds: Partial<Figure>) => isMet({ name: 'it', value: 5, ...bounds });
  expect([of({}), of({ atMost: 5 }), of({ atMost: 4.9 }), of({ atLeast: 5 }), of({ atLeast: 5.1 })]).toEqual([
    ...[undefined, true, false, true, false],
  ]);
});

test('the ground is measured before and after, and its mean is what the service is held against', () => {
  const sections = sectionsOf(reportOf(['ours'], [kafka(30_000), service('ours', 10_000), kafka(50_000)]));
  expect(sections.at(-1)?.figures).toEqual([[{ name: 'sustained, of bare kafkajs', value: 0.25, atLeast: 0.4 }]]);
});

test('another commit beside this one has the same ground, a column, and the ratio of each figure', () => {
  const turns = [
    kafka(40_000),
    service('ours', 12_000),
    service('theirs', 8_000),
    service('theirs', 8_000),
    service('ours', 12_000),
  ];
  const report = reportOf(['ours', 'theirs'], turns);
  expect(
    sectionsOf(report)
      .at(-1)
      ?.figures.map((of) => of[0]?.value),
  ).toEqual([0.3, 0.2]);
  const said = printReport(report).split('\n');
  expect(said.find((line) => line.startsWith('the whole service '))).toMatch(/ours +theirs +ratio/);
  expect(said.find((line) => line.startsWith('sustained, updates/s'))).toMatch(/12000 +8000 +1\.50/);
});

test('a part that failed says why, and takes only its own figures with it', () => {
  const failed = { part: 'commands' as const, build: 'ours', figures: [], failed: 'the service ended' };
  const report = reportOf(['ours'], [failed, kafka(40_000)]);
  expect(sectionsOf(report).map(({ title }) => title)).toEqual(['bare kafkajs']);
  expect(printReport(report)).toContain('NOT MEASURED: commands of ours: the service ended');
});
