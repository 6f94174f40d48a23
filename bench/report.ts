import type { MachineFigures } from './machine.ts';
import { type BareFigures, meanRate } from './measure-bare.ts';
import type { CommandFigures } from './measure-commands.ts';
import type { ConsolesFigures } from './measure-consoles.ts';
import type { KnownOrdersFigures } from './measure-known-orders.ts';
import type { LatencyFigures } from './measure-latency.ts';
import type { NaiveFigures } from './measure-naive.ts';
import type { ProfileFigures } from './measure-profile.ts';
import type { PressureFigures } from './measure-read-pressure.ts';
import type { ReconcileFigures } from './measure-reconcile.ts';
import type { RestFigures } from './measure-rest.ts';
import type { CapacityFigures } from './measure-service.ts';
import type { StreamCostFigures } from './measure-stream-cost.ts';

/** Everything that one run measured. Absent is what it was not asked for. */
export interface Report {
  readonly at: string;
  readonly command: string;
  readonly machine: MachineFigures;
  readonly settings: Readonly<Record<string, string | number>>;
  /** Milliseconds from the start of the process until every source was live, on an empty database. */
  readonly liveAfterMs: number;
  readonly payloadBytes: number;
  readonly bare?: BareFigures;
  readonly latency?: readonly LatencyFigures[];
  readonly capacity?: CapacityFigures;
  readonly naive?: NaiveFigures;
  readonly knownOrders?: KnownOrdersFigures;
  readonly profile?: ProfileFigures;
  readonly commands?: CommandFigures;
  readonly rest?: RestFigures;
  readonly pressure?: PressureFigures;
  readonly reconcile?: ReconcileFigures;
  readonly streamCost?: StreamCostFigures;
  readonly consoles?: ConsolesFigures;
}

export interface Ratio {
  readonly name: string;
  readonly value: number;
  readonly wanted: string;
  readonly met: boolean;
}

/** The figures that the service is held to (docs/performance.md), as far as they were measured. */
export function judge(report: Report): Ratio[] {
  const { bare, capacity, naive, latency = [], knownOrders } = report;
  const rate = capacity?.sustained?.publishedPerSecond;
  const service = capacity?.sustained?.processes.find(({ name }) => name === 'service');
  const ratios: (Ratio | undefined)[] = [
    rate === undefined || bare === undefined ? undefined : atLeast('of the slower bare path', rate / slowerBare(bare), 0.4),
    rate === undefined || naive === undefined ? undefined : atLeast('times the naive service', rate / naive.updatesPerSecond, 20),
    ...latency.flatMap(({ rate: at, stages }) => [
      at <= 1000 ? atMost(`ms p50 at ${at}/s`, stages.total.p50.value, 5) : undefined,
      atMost(`ms p99 at ${at}/s`, stages.total.p99.value, at <= 1000 ? 30 : 60),
    ]),
    service === undefined ? undefined : atMost('MB peak of the service', service.peakRssMb, 400),
    atMost('ms from start to live', report.liveAfterMs, 3000),
    knownOrders === undefined
      ? undefined
      : atLeast(`% change with ${knownOrders.many} known orders`, knownOrders.changePercent, -20),
    ...judgeCommands(report),
  ];
  return ratios.filter((ratio) => ratio !== undefined);
}

/** The figures of the command side and of open consoles (docs/performance.md). */
function judgeCommands({ commands, rest, pressure, reconcile, streamCost, consoles }: Report): Ratio[] {
  return [
    ...(commands === undefined
      ? []
      : [
          atMost(`ms p50 of our own in a command at ${commands.commandsPerSecond}/s`, commands.own.p50, 10),
          atMost(`ms p99 of our own in a command at ${commands.commandsPerSecond}/s`, commands.own.p99, 50),
          atMost('commands that were not accepted', commands.notAccepted, 0),
        ]),
    ...(rest === undefined
      ? []
      : [
          atLeast('of fastify from memory, one order', rest.oneOrder.share, 0.5),
          atLeast('of fastify from memory, a page of 50', rest.page.share, 0.5),
        ]),
    ...(pressure === undefined ? [] : [atMost('ms p99 of a cancel beside 60 readers of pages', pressure.besideReadsMs.p99, 200)]),
    ...(reconcile === undefined
      ? []
      : [
          atMost('ms from the event to the last settlement', reconcile.settleMs.highest, 5000),
          atMost('that landed and are not settled', reconcile.landed - reconcile.settled, 0),
          atMost('that did not land and are settled all the same', reconcile.guessed, 0),
          atMost('probes above their budget', reconcile.overBudget, 0),
        ]),
    ...(streamCost === undefined
      ? []
      : [atLeast('% change of the stream by journal and reconciler', streamCost.changePercent, -10)]),
    ...(consoles === undefined ? [] : [atLeast(`of the rate with ${consoles.consoles} open consoles`, consoles.share, 0.9)]),
  ];
}

export function slowerBare(bare: BareFigures): number {
  const { write, kafka } = meanRate(bare);
  return Math.min(write, kafka);
}

function atLeast(name: string, value: number, bound: number): Ratio {
  return { name, value: twoDigits(value), wanted: `>= ${bound}`, met: value >= bound };
}

function atMost(name: string, value: number, bound: number): Ratio {
  return { name, value: twoDigits(value), wanted: `<= ${bound}`, met: value <= bound };
}

function twoDigits(value: number): number {
  return Math.round(value * 100) / 100;
}
