import { parseArgs } from 'node:util';
import { pino } from 'pino';
import type { CommandWishes } from './plan/command-plan.ts';
import { crashPoints } from './plan/crash-points.ts';
import { plantedBugs } from './planted/planted-bugs.ts';
import { runSeed } from './run-seed.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    count: { type: 'string', default: '100' },
    trace: { type: 'boolean', default: false },
    /** `<point>:<time>`: the process ends there. */
    crash: { type: 'string' },
    patient: { type: 'boolean' },
    sweeping: { type: 'boolean' },
    losing: { type: 'boolean' },
    forgetting: { type: 'boolean' },
    moving: { type: 'boolean' },
    hiding: { type: 'boolean' },
    stranding: { type: 'boolean' },
    leaking: { type: 'boolean' },
    odd: { type: 'boolean' },
    setback: { type: 'boolean' },
    damaging: { type: 'boolean' },
    reusing: { type: 'boolean' },
    contesting: { type: 'boolean' },
    beside: { type: 'boolean' },
    /** `alpaca`; left out: the platform of the specification. */
    venue: { type: 'string' },
    /** Part of the name of a planted bug. */
    bug: { type: 'string' },
  },
});

// Whoever reads along may stop reading (`| head`).
process.stdout.on('error', () => process.exit());

const say = (line: string) => process.stdout.write(`${line}\n`);

function withTrace() {
  const lines = {
    write: (line: string) => {
      const { level, msg, who, ...rest } = JSON.parse(line) as { level: number; msg: string; who?: string };
      say(
        `${' '.repeat(11)} ${(who ?? '').padEnd(10)} ${level >= 40 ? '!' : '-'} ${msg} ${JSON.stringify(rest).slice(0, 300)}`,
      );
    },
  };
  return { print: say, log: pino({ level: 'debug', timestamp: false, base: null }, lines) };
}

function wishes(): CommandWishes {
  const [point, time] = values.crash?.split(':') ?? [];
  const known = crashPoints.find((each) => each === point);
  return {
    ...(values.patient === true && { patient: true }),
    ...(values.sweeping === true && { sweeping: true }),
    ...(values.losing === true && { losing: true }),
    ...(values.forgetting === true && { forgetting: true }),
    ...(values.moving === true && { moving: true }),
    ...(values.hiding === true && { hiding: true }),
    ...(values.stranding === true && { stranding: true }),
    ...(values.leaking === true && { leaking: true }),
    ...(values.odd === true && { odd: true }),
    ...(values.setback === true && { setback: true }),
    ...(values.damaging === true && { damaging: true }),
    ...(values.reusing === true && { reusing: true }),
    ...(values.contesting === true && { contesting: true }),
    ...(values.beside === true && { beside: true }),
    ...(values.venue === 'alpaca' && { venue: 'alpaca' }),
    ...(known !== undefined && { crash: { point: known, time: Number(time ?? 1) } }),
  };
}

const { bug: wanted } = values;
const bug = wanted === undefined ? undefined : plantedBugs.find(({ name }) => name.includes(wanted));
const first = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.count) : 1;
const startedMs = performance.now();
let failed = 0;
let slowest = { seed: 0, ms: 0 };
for (let seed = first; seed < first + count; seed += 1) {
  const beganMs = performance.now();
  const result = await runSeed(seed, {
    ...(values.trace ? withTrace() : {}),
    ...(bug && { bug }),
    wishes: wishes(),
  });
  const ms = performance.now() - beganMs;
  if (ms > slowest.ms) slowest = { seed, ms };
  if (result.failures.length > 0) failed += 1;
  if (result.failures.length > 0 || count === 1) {
    say(
      `seed ${seed}: ${JSON.stringify({ ...result, failures: result.failures.length, reached: undefined, ms: Math.round(ms) })}`,
    );
    for (const failure of result.failures.slice(0, 12)) say(`  ${failure}`);
  }
}
const ms = Math.round(performance.now() - startedMs);
say(`${count} seeds, ${failed} failed, ${ms} ms; the slowest was ${slowest.seed} with ${Math.round(slowest.ms)} ms`);
process.exitCode = failed === 0 ? 0 : 1;
