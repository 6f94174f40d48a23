import { parseArgs } from 'node:util';

export const parts = [
  'write',
  'kafka',
  'latency',
  'service',
  'naive',
  'commands',
  'rest',
  'pressure',
  'reconcile',
  'consoles',
  'idle',
  'profile',
  'stalls',
  'alone',
  'distance',
  'payloads',
  'accounts',
  'shards',
  'two-processes',
  'debezium',
] as const;
export type Part = (typeof parts)[number];

export interface Arguments {
  readonly seconds: number;
  readonly only: ReadonlySet<Part>;
  readonly knownOrders: number | undefined;
  readonly json: string | undefined;
}

export const usage = `npm run bench -- [--seconds 60] [--only ${parts.join(',')}] [--known-orders 1000000] [--json FILE]

  --seconds        how long the highest rate has to be kept up
  --only           some of the parts; without it all but profile and debezium (which fetches 780 MB, once)
  --known-orders   also the rate with 1,000 orders in the database and with so many
  --json           writes everything that was measured to FILE

DATABASE_URL and KAFKA_BROKERS name servers to use instead of starting some.`;

const byDefault: readonly Part[] = parts.filter((part) => part !== 'profile' && part !== 'debezium');

/** Throws an Error with a sentence when the arguments say something else. */
export function readArguments(args: readonly string[]): Arguments | 'help' {
  const text = { type: 'string' } as const;
  const options = { seconds: text, only: text, 'known-orders': text, json: text, help: { type: 'boolean' } } as const;
  const { values } = parseArgs({ args: [...args], options });
  if (values.help === true) return 'help';
  const known = values['known-orders'];
  return {
    seconds: wholeNumber('--seconds', values.seconds ?? '60'),
    only: new Set(values.only === undefined ? byDefault : values.only.split(',').map(partNamed)),
    knownOrders: known === undefined ? undefined : wholeNumber('--known-orders', known),
    json: values.json,
  };
}

function wholeNumber(name: string, value: string): number {
  if (!/^[1-9]\d{0,8}$/.test(value)) throw new Error(`${name} is a whole number, not ${value}`);
  return Number(value);
}

function partNamed(name: string): Part {
  const part = parts.find((known) => known === name);
  if (part === undefined) throw new Error(`there is no part ${name}; there are ${parts.join(', ')}`);
  return part;
}
