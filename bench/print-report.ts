import { formatTable } from '../src/cli/io/format-text.ts';
import type { Quantile } from './histogram.ts';
import { meanRate } from './measure-bare.ts';
import { printAsUsers } from './print-as-users.ts';
import { judge, type Report, slowerBare } from './report.ts';

/** The report for people. */
export function printReport(report: Report): string {
  const { machine } = report;
  const sections = [
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB; load before: ${machine.loadBefore}`,
    Object.entries(machine.versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(' · '),
    Object.entries({ ...machine.durability, ...report.settings })
      .map(([name, value]) => `${name} ${value}`)
      .join(' · '),
    rates(report),
    latencies(report),
    processes(report),
    commands(report),
    reads(report),
    pressure(report),
    reconciled(report),
    opened(report),
    atRest(report),
    profile(report),
    ...printAsUsers(report),
    verdicts(report),
  ];
  return `${sections.filter((section) => section !== '').join('\n\n')}\n`;
}

function rates({ bare, capacity, naive, knownOrders, payloadBytes }: Report): string {
  const rate = capacity?.sustained?.publishedPerSecond;
  const rows: string[][] = [];
  if (bare !== undefined) {
    const { write, kafka } = meanRate(bare);
    const each = (values: readonly number[]) => values.join(' and ');
    rows.push([
      '(a) bare write path',
      `${write}`,
      `${each(bare.write.map((one) => one.rowsPerSecond))}, ${payloadBytes} B a row`,
    ]);
    rows.push(['(b) bare kafkajs', `${kafka}`, each(bare.kafka.map((one) => one.messagesPerSecond))]);
  }
  if (capacity !== undefined && capacity.sustained === undefined) {
    rows.push([
      '(c) the whole service',
      'none',
      `no rate was kept up: the machine is busy; unpaced ${capacity.unpacedPerSecond}`,
    ]);
  } else if (capacity?.sustained !== undefined) {
    const { lag, seconds } = capacity.sustained;
    const growth = `lag median ${lag.median}, highest ${lag.highest}, ${lag.growthPerSecond.toFixed(1)} a second`;
    rows.push([
      '(c) the whole service',
      `${rate}`,
      `for ${seconds} s, ${growth}; unpaced ${capacity.unpacedPerSecond}`,
    ]);
  }
  if (naive !== undefined) rows.push(['(d) the naive service', `${naive.updatesPerSecond}`, 'always busy']);
  if (rate !== undefined && bare !== undefined)
    rows.push(['(c) of the slower of (a), (b)', (rate / slowerBare(bare)).toFixed(2), '']);
  if (rate !== undefined && naive !== undefined)
    rows.push(['(c) of (d)', (rate / naive.updatesPerSecond).toFixed(1), '']);
  if (knownOrders !== undefined) {
    const { few, many, fewPerSecond, manyPerSecond, changePercent } = knownOrders;
    rows.push([`unpaced, ${few} known orders`, fewPerSecond.join(' and '), '']);
    rows.push([`unpaced, ${many} known orders`, manyPerSecond.join(' and '), `${changePercent} %`]);
  }
  return rows.length === 0 ? '' : formatTable([['', 'updates/s', ''], ...rows]);
}

function latencies({ latency = [] }: Report): string {
  if (latency.length === 0) return '';
  const cell = ({ value, above, atMost }: Quantile) => `${value} (${above} to ${atMost})`;
  const rows = latency.flatMap(({ rate, load, stages }) =>
    Object.entries(stages).map(([stage, { p50, p99 }]) => [
      `${rate}`,
      `${load.publishedPerSecond}`,
      stage,
      cell(p50),
      cell(p99),
      `${load.lag.highest}`,
    ]),
  );
  return formatTable([
    ['asked/s', 'published/s', 'stage', 'p50 ms (bucket)', 'p99 ms (bucket)', 'highest lag'],
    ...rows,
  ]);
}

function processes({ capacity }: Report): string {
  if (capacity?.sustained === undefined) return '';
  const rows = capacity.sustained.processes.map((one) => [
    one.name,
    `${one.cpuPercent} %`,
    `${one.cpuMicrosPerUpdate}`,
    `${one.startRssMb} / ${one.middleRssMb} / ${one.endRssMb}`,
    `${one.peakRssMb}`,
  ]);
  rows.push(['everybody else', `${capacity.sustained.elsewherePercent} %`, '', '', '']);
  return formatTable([
    ['at the rate of (c)', 'of a core', 'CPU us/update', 'MB start / middle / end', 'MB peak'],
    ...rows,
  ]);
}

function commands({ commands: found, streamCost }: Report): string {
  const rows: string[][] = [];
  if (found !== undefined) {
    const { total, platform, own } = found;
    for (const [name, { p50, p99 }] of Object.entries({ total, 'of the platform': platform, 'our own': own }))
      rows.push([name, `${p50}`, `${p99}`]);
  }
  const load = found && `a command, at ${found.commandsPerSecond}/s beside ${found.updatesPerSecond} updates/s`;
  const table = rows.length === 0 ? '' : formatTable([[load ?? '', 'p50 ms', 'p99 ms'], ...rows]);
  if (streamCost === undefined) return table;
  const { withoutPerSecond, withPerSecond, changePercent } = streamCost;
  const cost = formatTable([
    ['the stream, unpaced', 'updates/s', ''],
    ['commands off', withoutPerSecond.join(' and '), ''],
    ['1,000 unknown commands watched', withPerSecond.join(' and '), `${changePercent} %`],
  ]);
  return [table, cost].filter((part) => part !== '').join('\n\n');
}

function reads({ rest }: Report): string {
  if (rest === undefined) return '';
  const rows = Object.entries({ 'one order': rest.oneOrder, 'a page of 50': rest.page }).map(([name, figures]) => [
    `${name}, ${figures.bodyBytes} B`,
    figures.servicePerSecond.join(' and '),
    figures.memoryPerSecond.join(' and '),
    figures.share.toFixed(2),
  ]);
  return formatTable([['reads a second', 'service', 'fastify from memory', 'share'], ...rows]);
}

function pressure({ pressure: found }: Report): string {
  if (found === undefined) return '';
  const { aloneMs, besideReadsMs, pagesPerSecond, refusedPerSecond, pageBytes } = found;
  const rows = Object.entries({ alone: aloneMs, [`beside pages of ${pageBytes} B`]: besideReadsMs }).map(
    ([name, { p50, p99, highest, count, failed }]) => [
      name,
      ...[p50, p99, highest].map((ms) => ms.toFixed(0)),
      `${count}`,
      `${failed}`,
    ],
  );
  const readers = `${pagesPerSecond} pages a second, ${refusedPerSecond} refused`;
  return formatTable([
    ['cancels', 'p50 ms', 'p99 ms', 'highest ms', 'count', 'failed'],
    ...rows,
    [readers, '', '', '', '', ''],
  ]);
}

function reconciled({ reconcile: found }: Report): string {
  if (found === undefined) return '';
  const { unknown, landed, settled, guessed, settleMs, probes, probesOf, overBudget } = found;
  const { reference, account, order } = probesOf;
  return formatTable([
    [`${unknown} unknown commands at once`, ''],
    ['landed, settled, guessed', `${landed}, ${settled}, ${guessed}`],
    ['ms from acceptance to settlement: p50, p99, highest', `${settleMs.p50}, ${settleMs.p99}, ${settleMs.highest}`],
    ['probes: by reference, of an account, of an order', `${probes}: ${reference}, ${account}, ${order}`],
    ['above the budget at most', `${overBudget}`],
  ]);
}

function opened({ consoles: found }: Report): string {
  if (found === undefined) return '';
  const { consoles, rate, withoutMicros, withMicros, share, ended } = found;
  return formatTable([
    [`the service at ${rate} updates/s`, 'CPU us/update', ''],
    ['no console', withoutMicros.join(', '), ''],
    [`${consoles} open consoles`, withMicros.join(', '), `${share} of the rate; ${ended} cut`],
  ]);
}

function atRest({ idle }: Report): string {
  if (idle === undefined) return '';
  const rows = [idle.few, idle.many, idle.crowd].map(({ accounts, batchesPerSecond, marksPerSecond, percent }) => [
    `${accounts}`,
    ...[batchesPerSecond, marksPerSecond, percent['service'], percent['postgres'], percent['kafka']].map(
      (value) => `${value ?? '-'}`,
    ),
  ]);
  return formatTable([
    ['accounts at rest', 'batches/s', 'marks/s', 'service % of a core', 'postgres %', 'kafka %'],
    ...rows,
  ]);
}

function profile({ profile: found }: Report): string {
  if (found === undefined) return '';
  const rows = found.parts.map(({ part, microsPerUpdate, percent }) => [part, `${microsPerUpdate}`, `${percent} %`]);
  const all = ['all', `${found.cpuMicrosPerUpdate}`, ''];
  return formatTable([['where the time of the service goes', 'us/update', ''], ...rows, all]);
}

function verdicts(report: Report): string {
  const rows = judge(report).map(({ name, value, wanted, met }) => [met ? 'met' : 'MISSED', `${value}`, name, wanted]);
  return formatTable([['', '', '', 'wanted'], ...rows]);
}
