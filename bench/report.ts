import type { MachineFigures } from './machine.ts';
import type { AsUsersFigures } from './measure-as-users.ts';
import { type BareFigures, meanRate } from './measure-bare.ts';
import type { CommandFigures } from './measure-commands.ts';
import type { ConsolesFigures } from './measure-consoles.ts';
import { type IdleFigures, totalOf } from './measure-idle.ts';
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
export interface Report extends AsUsersFigures {
  readonly at: string;
  readonly command: string;
  readonly machine: MachineFigures;
  readonly settings: Readonly<Record<string, string | number>>;
  /**
   * Milliseconds from the start of the process until every source was live, on an empty database.
   */
  readonly liveAfterMs: number;
  /** Of `tidemark --help`. */
  readonly helpCpuSeconds: number;
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
  readonly idle?: IdleFigures;
}

export interface Ratio {
  readonly name: string;
  readonly value: number;
  readonly wanted: string;
  readonly met: boolean;
}

/** The figures that the service is held to (docs/performance.md), as far as they were measured. */
export function judge(report: Report): Ratio[] {
  const { naive, capacity, knownOrders } = report;
  const rate = capacity?.sustained?.publishedPerSecond;
  return [
    ...judgeCapacity(report),
    ...(rate === undefined || naive === undefined
      ? []
      : [atLeast('times the naive service', rate / naive.updatesPerSecond, 20)]),
    ...judgeLatency(report),
    ...judgeIdle(report),
    ...judgeFleet(report),
    atMost('ms from start to live', report.liveAfterMs, 2500),
    atMost('s of processor for tidemark --help', report.helpCpuSeconds, 0.15),
    ...(knownOrders === undefined
      ? []
      : [atLeast(`% change with ${knownOrders.many} known orders`, knownOrders.changePercent, -20)]),
    ...judgeCommands(report),
  ];
}

/**
 * At the rate that is kept up. The bare path's time an update is
 * that of the clock: it keeps both cores busy.
 */
function judgeCapacity({ bare, capacity }: Report): Ratio[] {
  const { sustained, unpacedPerSecond = 0 } = capacity ?? {};
  if (sustained === undefined) return [];
  const { publishedPerSecond: rate, processes } = sustained;
  const service = processes.find(({ name }) => name === 'service');
  const allMicros = processes.reduce((sum, { cpuMicrosPerUpdate }) => sum + cpuMicrosPerUpdate, 0);
  return [
    ...(bare === undefined
      ? []
      : [
          atLeast('of the slower bare path', rate / slowerBare(bare), 0.5),
          atMost('times the bare path in processor time', (allMicros * slowerBare(bare)) / 1e6, 4),
        ]),
    atLeast('of its own unpaced rate', rate / unpacedPerSecond, 0.8),
    ...(service === undefined
      ? []
      : [
          atMost('us of the service an update', service.cpuMicrosPerUpdate, 45),
          atMost('MB peak of the service', service.peakRssMb, 300),
        ]),
  ];
}

const latencyBounds: Readonly<Record<number, { readonly p50: number; readonly p99: number }>> = {
  1000: { p50: 3, p99: 20 },
  5000: { p50: 8, p99: 45 },
};

/** With the processor time at 1,000/s, where most of it is the price of waking up. */
function judgeLatency({ latency = [], alone = [] }: Report): Ratio[] {
  const slow = latency.find(({ rate }) => rate === 1000);
  const fast = latency.find(({ rate }) => rate === 5000);
  const quiet = alone.find(({ rate }) => rate === 1000);
  return [
    ...latency.flatMap(({ rate, stages: { total } }) => {
      const bounds = latencyBounds[rate];
      if (bounds === undefined) return [];
      return [
        atMost(`ms p50 at ${rate}/s`, total.p50.value, bounds.p50),
        atMost(`ms p99 at ${rate}/s`, total.p99.value, bounds.p99),
      ];
    }),
    ...(slow === undefined || fast === undefined
      ? []
      : [atMost('times the p99 at 1000/s at 5000/s', fast.stages.total.p99.value / slow.stages.total.p99.value, 3)]),
    ...(quiet === undefined ? [] : [atMost('us of all processes an update at 1000/s', quiet.allMicros, 500)]),
  ];
}

function judgeIdle({ idle }: Report): Ratio[] {
  if (idle === undefined) return [];
  const { many, crowd, accountsPercent, crowdPercent } = idle;
  return [
    atMost(`batches a second with ${many.accounts} accounts at rest`, many.batchesPerSecond, 2),
    atMost(`% of a core for ${many.accounts} accounts at rest, of ${totalOf(many)} in all`, accountsPercent, 3),
    atMost(
      `% of a core of the service for ${crowd.accounts} accounts at rest, of ${crowd.percent['service']} in all`,
      crowdPercent,
      3,
    ),
  ];
}

/** Many shards in one process, and two processes beside one. */
function judgeFleet({ shards = [], 'two-processes': two }: Report): Ratio[] {
  const [one, many] = shards.map(({ costs, endRssMb }) => ({
    micros: mean(costs.map((cost) => cost.serviceMicros)),
    mb: mean(endRssMb),
  }));
  return [
    ...(one === undefined || many === undefined
      ? []
      : [
          atMost('% more of the service an update with 16 shards', 100 * (many.micros / one.micros - 1), 5),
          atMost('MB more with 16 shards', many.mb - one.mb, 20),
        ]),
    ...(two === undefined
      ? []
      : [atLeast('of one process by two, with half of the shards each', two.twoPerSecond / mean(two.onePerSecond), 1)]),
  ];
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
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
    ...(pressure === undefined
      ? []
      : [atMost('ms p99 of a cancel beside 60 readers of pages', pressure.besideReadsMs.p99, 200)]),
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
    ...(consoles === undefined
      ? []
      : [atLeast(`of the rate with ${consoles.consoles} open consoles`, consoles.share, 0.9)]),
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
