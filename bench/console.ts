/**
 * The blotter under load: 100,000 open orders and 5,000 updates a second, in Chromium, from
 * the real REST server over orders in memory. An empty page that asks for every frame is
 * measured in the same run, so that a slow machine is seen. Prints a table;
 * docs/performance.md says how to read it.
 *
 * Run: npm exec -- node bench/console.ts [--orders 100000]
 * [--rate 5000] [--seconds 60] [--profile FILE]
 */
import { parseArgs } from 'node:util';
import { formatTable } from '../src/cli/io/format-text.ts';
import { startRest } from '../test/support/rest/rest-rig.ts';
import { Cleanup } from './cleanup.ts';
import { type ConsoleFigures, measureConsole } from './measure-console.ts';
import { OrderSource } from './order-source.ts';

const number = (fallback: string) => ({ type: 'string', default: fallback }) as const;
const { values } = parseArgs({
  options: { orders: number('100000'), rate: number('5000'), seconds: number('60'), profile: { type: 'string' } },
});
const [orders, rate, seconds] = [Number(values.orders), Number(values.rate), Number(values.seconds)];
if (![orders, rate, seconds].every((value) => Number.isSafeInteger(value) && value > 0))
  throw new Error('--orders, --rate and --seconds are whole numbers above 0');

const cleanup = new Cleanup();
cleanup.onSignals();
try {
  const source = new OrderSource(orders);
  const { server, address } = await startRest({
    withConsole: true,
    ports: { reads: source },
    stream: { pollGapMs: 5 },
  });
  cleanup.add(() => server.drain(new AbortController().signal));
  const profile = values.profile === undefined ? {} : { profile: values.profile };
  const options = { address, source, orders, rate, seconds, wake: () => server.wake(), ...profile };
  const figures = await measureConsole(cleanup, options);
  console.log(table(figures));
  if (!figures.equal) process.exitCode = 1;
} finally {
  await cleanup.run();
}

function table({ empty, loaded, heapMb, ...rest }: ConsoleFigures): string {
  const ms = (value: number) => value.toFixed(1);
  const rows = [
    ['', 'empty page', 'blotter', 'ratio'],
    ['script of a frame, p50 ms', ms(empty.scriptMsP50), ms(loaded.scriptMsP50), ''],
    [
      'script of a frame, p95 ms',
      ms(empty.scriptMsP95),
      ms(loaded.scriptMsP95),
      `${(loaded.scriptMsP95 / 16.7).toFixed(2)} of 16.7 ms`,
    ],
    ['script of a frame, highest ms', ms(empty.scriptMsHighest), ms(loaded.scriptMsHighest), ''],
    ...(['intervalMsP50', 'intervalMsP95'] as const).map((name) => [
      `from frame to frame, ${name.slice(-3).toLowerCase()} ms`,
      ms(empty[name]),
      ms(loaded[name]),
      (loaded[name] / empty[name]).toFixed(2),
    ]),
    ...Object.entries(loaded.shares).map(([name, share]) => [
      `main thread: ${name}`,
      '',
      `${Math.round(share * 100)} %`,
      '',
    ]),
    [
      'heap after 10 s, in the middle, at the end, MB',
      '',
      heapMb.map((mb) => mb.toFixed(0)).join(', '),
      ((heapMb.at(-1) ?? 0) / (heapMb[0] ?? 1)).toFixed(2),
    ],
    ['updates a second', '', `${rest.perSecond}`, ''],
    ['first orders shown, all shown, ms', '', `${rest.firstRowMs}, ${rest.allRowsMs}`, ''],
    ['answer to a key, p50, highest ms', '', `${ms(rest.keyMs.p50)}, ${ms(rest.keyMs.highest)}`, ''],
    ['connections of the stream, resets', '', `${rest.connections}, ${rest.resets}`, ''],
    ['equal to the source at the end', '', rest.equal ? 'yes' : 'NO', ''],
  ];
  return formatTable(rows);
}
