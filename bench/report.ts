import { formatTable } from '../src/cli/io/format-text.ts';
import { type Figure, isMet, meanFigures, rounded } from './figure.ts';
import type { MachineFigures } from './machine.ts';
import { naiveName } from './measure-naive.ts';
import { rateName } from './measure-service.ts';
import { type Part, parts } from './parts.ts';

/** One part, measured once of one build. */
export interface Turn {
  readonly part: Part;
  /** By name. */
  readonly build: string;
  readonly figures: readonly Figure[];
  /** Why there are none. */
  readonly failed?: string;
}

/** Everything that one run measured. */
export interface Report {
  readonly at: string;
  readonly command: string;
  readonly machine: MachineFigures;
  readonly settings: Readonly<Record<string, string | number>>;
  /** This checkout first, then the one beside it. */
  readonly builds: readonly string[];
  readonly turns: readonly Turn[];
}

interface Section {
  readonly title: string;
  /** Of each build, in their order; a build may lack some. */
  readonly figures: readonly (readonly Figure[])[];
}

/** The means of each part, and what several parts say together. */
export function sectionsOf({ builds, turns }: Report): Section[] {
  const measured = Object.entries(parts).flatMap(([part, { title }]) => {
    const its = turns.filter((turn) => turn.part === part && turn.failed === undefined);
    if (its.length === 0) return [];
    const of = (build: string) => meanFigures(its.filter((turn) => turn.build === build).map(({ figures }) => figures));
    return [{ title, figures: builds.map(of) }];
  });
  // What is measured of this checkout alone is the ground for both.
  const ground = new Map(measured.flatMap(({ figures }) => (figures[0] ?? []).map(named)));
  const together = builds.map((_, i) =>
    ratiosOf(new Map([...ground, ...measured.flatMap(({ figures }) => (figures[i] ?? []).map(named))])),
  );
  return together.every((figures) => figures.length === 0)
    ? measured
    : [...measured, { title: 'the whole service and others', figures: together }];
}

/** What the service is held to besides, as far as both sides of a ratio were measured. */
function ratiosOf(byName: ReadonlyMap<string, number>): Figure[] {
  const ratio = (name: string, one: number | undefined, other: number | undefined, bound: Partial<Figure>) =>
    one === undefined || other === undefined ? [] : [{ name, value: one / other, ...bound }];
  const rate = byName.get(rateName);
  const [write, kafka] = [byName.get('bare write path, rows/s'), byName.get('bare kafkajs, records/s')];
  const slower = write === undefined || kafka === undefined ? undefined : Math.min(write, kafka);
  const micros = byName.get('us of all processes an update, sustained');
  // The bare path's time an update is that of the clock: it keeps both cores busy.
  const bareMicros = slower === undefined ? undefined : 1e6 / slower;
  return [
    ...ratio('sustained, of bare kafkajs', rate, kafka, { atLeast: 0.4 }),
    ...ratio('sustained, of the slower bare path', rate, slower, { atLeast: 0.5 }),
    ...ratio('times the slower bare path in processor time', micros, bareMicros, { atMost: 4 }),
    ...ratio('sustained, times the naive service', rate, byName.get(naiveName), { atLeast: 20 }),
  ];
}

/** The report for people: a table for each part. */
export function printReport(report: Report): string {
  const { machine, builds } = report;
  const words = (of: Readonly<Record<string, unknown>>) =>
    Object.entries(of)
      .map(([name, value]) => `${name} ${value}`)
      .join(' · ');
  const head = [
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB; load before: ${machine.loadBefore}`,
    words({ tidemark: builds.join(' beside '), ...machine.versions }),
    words({ ...machine.durability, ...report.settings }),
  ];
  const failed = report.turns.flatMap((turn) =>
    turn.failed === undefined ? [] : [`NOT MEASURED: ${parts[turn.part].title} of ${turn.build}: ${turn.failed}`],
  );
  const sections = sectionsOf(report).map((section) => printSection(section, builds));
  return [head.join('\n'), ...sections, ...failed, ''].join('\n\n');
}

function printSection({ title, figures }: Section, builds: readonly string[]): string {
  const [ours = [], theirs = []] = figures;
  const isCompared = theirs.length > 0;
  const names = isCompared ? [builds[0] ?? '', builds[1] ?? '', 'ratio'] : [''];
  const rows = ours.map((figure) => {
    const { name, value, note = '' } = figure;
    const other = theirs.find((one) => one.name === name)?.value;
    const beside = other === undefined ? ['', ''] : [`${rounded(other)}`, (value / other).toFixed(2)];
    return [name, `${rounded(value)}`, ...(isCompared ? beside : []), ...verdictOf(figure), note];
  });
  return formatTable([[title, ...names, 'wanted', '', ''], ...rows]).trimEnd();
}

function verdictOf(figure: Figure): [wanted: string, verdict: string] {
  const met = isMet(figure);
  if (met === undefined) return ['', ''];
  const wanted = figure.atLeast === undefined ? `<= ${figure.atMost}` : `>= ${figure.atLeast}`;
  return [wanted, met ? 'met' : 'MISSED'];
}

function named({ name, value }: Figure): [string, number] {
  return [name, value];
}
