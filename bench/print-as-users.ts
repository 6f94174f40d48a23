import { formatTable } from '../src/cli/io/format-text.ts';
import type { AsUsersFigures } from './measure-as-users.ts';
import type { LatencyFigures } from './measure-latency.ts';
import { lateMs } from './stall-shares.ts';

/** The tables of `measure-as-users.ts`, one for each part that was measured. */
export function printAsUsers(figures: AsUsersFigures): string[] {
  const tables = [stalls, alone, distance, payloads, accounts, shards, twoProcesses, debezium];
  return tables.map((table) => table(figures)).filter((table) => table !== '');
}

function p50p99({ stages }: LatencyFigures): string {
  return `${stages.total.p50.value} / ${stages.total.p99.value}`;
}

function stalls({ stalls: found }: AsUsersFigures): string {
  if (found === undefined) return '';
  const names = found[0]?.causes.map(({ cause }) => cause) ?? [];
  const of = (cause: string) =>
    found.flatMap(({ causes }) => {
      const one = causes.find((other) => other.cause === cause);
      return [`${one?.percent ?? 0} %`, `${one?.longestOf ?? 0}`];
    });
  const head = found.flatMap(({ latency }) => [`${latency.rate}/s: of their time`, 'longest of']);
  const late = found.flatMap(({ late: count, updates }) => [`${count} late`, `of ${updates}`]);
  const totals = found.flatMap(({ latency }) => [p50p99(latency), 'ms']);
  return formatTable([
    [`updates over ${lateMs} ms`, ...head],
    ...names.map((cause) => [cause, ...of(cause)]),
    ['all', ...late],
    ['p50 / p99, traced', ...totals],
  ]);
}

function alone({ alone: found }: AsUsersFigures): string {
  if (found === undefined) return '';
  const rows = found.map((one) => [
    `${one.rate}`,
    `${one.publishedPerSecond}`,
    `${one.serviceMicros}`,
    `${one.servicePercent} %`,
    `${one.allMicros}`,
    `${one.elsewherePercent} %`,
  ]);
  const head = [
    'asked/s',
    'published/s',
    'service us/update',
    'of a core',
    'all processes us/update',
    'everybody else',
  ];
  return formatTable([head, ...rows]);
}

function distance({ distance: found }: AsUsersFigures): string {
  if (found === undefined) return '';
  const rows = found.map(({ addedMs, latency, unpacedPerSecond }) => [
    `${addedMs} ms`,
    p50p99(latency),
    `${unpacedPerSecond}`,
    (unpacedPerSecond / (found[0]?.unpacedPerSecond ?? 1)).toFixed(2),
  ]);
  return formatTable([['Postgres and Kafka away by', 'p50 / p99 ms at 1000/s', 'unpaced/s', 'of near'], ...rows]);
}

function payloads({ payloads: found }: AsUsersFigures): string {
  if (found === undefined) return '';
  const rows = found.map(({ payloadBytes, writePerSecond, kafkaPerSecond, service }) => [
    `${payloadBytes} B`,
    `${writePerSecond}`,
    `${kafkaPerSecond}`,
    service === undefined ? 'smaller than a record' : `${service.perSecond}, records of ${service.payloadBytes} B`,
    service === undefined ? '' : (service.perSecond / Math.min(writePerSecond, kafkaPerSecond)).toFixed(2),
  ]);
  return formatTable([
    ['records of', 'bare write path/s', 'bare kafkajs/s', 'service, unpaced/s', 'of the slower'],
    ...rows,
  ]);
}

function accounts({ accounts: found }: AsUsersFigures): string {
  if (found === undefined) return '';
  const rows = found.loaded.map(({ accounts: count, cost, latency }) => [
    `${count} accounts at ${cost.rate}/s`,
    `${cost.serviceMicros}`,
    `${cost.allMicros}`,
    p50p99(latency),
    `${latency.load.processes.find(({ name }) => name === 'service')?.peakRssMb ?? ''}`,
  ]);
  return formatTable([['', 'service us/update', 'all us/update', 'p50 / p99 ms', 'MB'], ...rows]);
}

function shards({ shards: found }: AsUsersFigures): string {
  if (found === undefined) return '';
  const rows = found.map(({ shards: count, costs, endRssMb }) => [
    `${count} at ${costs[0]?.rate ?? ''}/s`,
    costs.map(({ serviceMicros }) => `${serviceMicros}`).join(' and '),
    costs.map(({ allMicros }) => `${allMicros}`).join(' and '),
    endRssMb.join(' and '),
    costs.map(({ elsewherePercent }) => `${elsewherePercent} %`).join(' and '),
  ]);
  return formatTable([
    ['shards in one process', 'service us/update', 'all us/update', 'MB', 'everybody else'],
    ...rows,
  ]);
}

function twoProcesses({ 'two-processes': found }: AsUsersFigures): string {
  if (found === undefined) return '';
  const { onePerSecond, twoPerSecond, shares, oneMicros, twoMicros } = found;
  return formatTable([
    ['unpaced', 'updates/s', 'services us/update', ''],
    ['one process, before and after', onePerSecond.join(' and '), oneMicros.join(' and '), ''],
    ['two, each with half of the shards', `${twoPerSecond}`, `${twoMicros}`, `each: ${shares.join(' and ')} of it`],
  ]);
}

function debezium({ debezium: found }: AsUsersFigures): string {
  if (found === undefined) return '';
  if (found.missing !== undefined) return `Debezium Server ${found.version} was not measured: ${found.missing}`;
  const { version, bareWritePerSecond, servicePerSecond, perSecond, paced, rssMb } = found;
  const cpu = Object.entries(paced.cpuMicrosPerRow).map(([name, micros]) => `${name} ${micros}`);
  const share = (rate: number) => (rate / bareWritePerSecond).toFixed(2);
  return formatTable([
    [`beside Debezium Server ${version}`, 'updates/s', 'of the bare write path'],
    ['bare write path', `${bareWritePerSecond}`, ''],
    ['Debezium, a writer that waits for it', `${perSecond}`, share(perSecond)],
    ['our service, unpaced', `${servicePerSecond}`, share(servicePerSecond)],
    [`Debezium at ${paced.rate}/s, row made to appended`, `p50 ${paced.p50Ms} ms`, `p99 ${paced.p99Ms} ms`],
    [`CPU us/row: ${cpu.join(', ')}`, `${rssMb} MB`, ''],
  ]);
}
