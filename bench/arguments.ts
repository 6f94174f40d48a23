import { parseArgs } from 'node:util';
import { type Part, partNames } from './parts.ts';

export interface Arguments {
  readonly seconds: number;
  readonly only: ReadonlySet<Part>;
  /** A commit that is measured beside this checkout. */
  readonly vs: string | undefined;
  readonly json: string | undefined;
}

export const usage = `npm run bench -- [--seconds 60] [--only ${partNames.join(',')}] [--vs REF] [--json FILE]

  --seconds   how long the highest rate has to be kept up; latency and commands at most so long, and 30 s
  --only      some of the parts; without it all but profile
  --vs        another commit beside this checkout, in turn (this, that, that, this), with the ratio of each figure
  --json      writes everything that was measured to FILE

DATABASE_URL and KAFKA_BROKERS name servers to use instead of starting some.`;

/** Profiling costs the service some of its rate. */
const byDefault: readonly Part[] = partNames.filter((part) => part !== 'profile');

/** Throws an Error with a sentence when the arguments say something else. */
export function readArguments(args: readonly string[]): Arguments | 'help' {
  const text = { type: 'string' } as const;
  const options = { seconds: text, only: text, vs: text, json: text, help: { type: 'boolean' } } as const;
  const { values } = parseArgs({ args: [...args], options });
  if (values.help === true) return 'help';
  const { seconds = '60' } = values;
  if (!/^[1-9]\d{0,8}$/.test(seconds)) throw new Error(`--seconds is a whole number, not ${seconds}`);
  return {
    seconds: Number(seconds),
    only: new Set(values.only === undefined ? byDefault : values.only.split(',').map(partNamed)),
    vs: values.vs,
    json: values.json,
  };
}

function partNamed(name: string): Part {
  const part = partNames.find((known) => known === name);
  if (part === undefined) throw new Error(`there is no part ${name}; there are ${partNames.join(', ')}`);
  return part;
}
