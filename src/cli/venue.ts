import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Command } from 'commander';
import { plural } from '../runtime/plural.ts';
import { exitCodes, ProgramError, sentenceOf } from '../runtime/program-error.ts';
import { alpacaCheck } from '../venue/alpaca/alpaca-check.ts';
import { checkVenue } from '../venue/check/check-venue.ts';
import type { Check, VenueUnderCheck } from '../venue/check/fixtures.ts';
import { platformCheck } from '../venue/platform/platform-check.ts';
import { type Columns, tableText } from './io/format-text.ts';
import { type CliIo, printJson } from './io/io.ts';
import { type Replayed, ReplayedRecording } from './venue/replay-recording.ts';

const examples = `
Examples:
  $ TIDEMARK_RECORD=recording tidemark serve           records every row of the platform
  $ tidemark venue replay recording/*.ndjson           what each row comes to now
  $ tidemark venue replay recording/*.ndjson --order 7d0c1d1e-…
  $ tidemark venue replay recording/*.ndjson --json | jq -c 'select(.came == "conflict")'
  $ tidemark venue check platform                      whether its decoders and its table of writes keep the contract
  $ tidemark venue check docs/venues/cove-check.ts     the same of a venue that is not in Tidemark (docs/venues.md)

Nothing is connected, and nothing is written. Files are played in the order given. Revisions begin with 1 at an order's first row of the recording.
\`check\` runs over the fixtures of a venue: frames, rows, lives of orders, and answers to writes.
Exit codes: 0 every row could be read and merged, every check held; 1 a row was unreadable or in conflict, a line is none of a recording, or a check did not hold.`;

interface ReplayFlags {
  readonly order?: string;
  readonly json?: true;
}

type Step = Replayed & { readonly file: string; readonly line: number };

type Venues = Readonly<Record<string, VenueUnderCheck>>;

const allVenues: Venues = { platform: platformCheck, alpaca: alpacaCheck };

/**
 * `venue replay`: recorded rows, played through the decoder and the reducer of this build. `venue
 * check`: the contract of the port, over the fixtures of a venue.
 */
export function venueCommand(io: CliIo, venues = allVenues): Command {
  const command = new Command('venue').description('Tries what a trading venue sent.').addHelpText('after', examples);
  command
    .command('replay')
    .description('Plays recorded rows through the decoder and the reducer, and says what came of each.')
    .argument('<files...>', 'files that TIDEMARK_RECORD made')
    .option('--order <id>', 'show every row of this order')
    .option('--json', 'print a JSON line for each row')
    .action((files: readonly string[], flags: ReplayFlags) => replay(io, files, flags, venues));
  command
    .command('check')
    .description('Checks over the fixtures of a venue that it keeps the contract of the port.')
    .argument('<name>', `${Object.keys(venues).join(', ')}, or a module that exports \`underCheck\``)
    .option('--json', 'print a JSON line for each check')
    .action(async (name: string, flags: { json?: true }) =>
      check(io, venues[name] ?? (await underCheckIn(io, name, Object.keys(venues))), flags),
    );
  return command;
}

/** The venue in a file of the caller's own. */
async function underCheckIn(io: CliIo, file: string, names: readonly string[]): Promise<VenueUnderCheck> {
  const fix = `Give ${names.join(', ')}, or the path of a module that exports \`underCheck\` (docs/venues.md).`;
  const details = { code: 'NO_VENUE', exitCode: exitCodes.usage, fix };
  let found: { readonly underCheck?: VenueUnderCheck };
  try {
    found = await import(pathToFileURL(resolve(io.cwd, file)).href);
  } catch (error) {
    throw new ProgramError(`${file} can't be loaded: ${sentenceOf(error)}`, { ...details, cause: error });
  }
  const { underCheck } = found;
  if (underCheck === undefined) throw new ProgramError(`${file} exports no \`underCheck\``, details);
  const lacking = ['venue', 'streams', 'writes', 'judgeWrite'].filter((part) => !Object.hasOwn(underCheck, part));
  if (lacking.length > 0) throw new ProgramError(`\`underCheck\` in ${file} lacks ${lacking.join(', ')}`, details);
  return underCheck;
}

const checkColumns: Columns<Check> = {
  PART: 'part',
  FIXTURE: 'name',
  RESULT: ({ missing }) => missing ?? 'held',
};

function check(io: CliIo, venue: VenueUnderCheck, { json }: { readonly json?: true }): void {
  const checks = [...checkVenue(venue, io.random)];
  const missing = checks.filter((one) => one.missing !== undefined).length;
  if (missing > 0) io.exit(1);
  if (json) for (const one of checks) printJson(io, one);
  else io.stdout.write(`${tableText(checks, checkColumns)}\n${plural(checks.length, 'check')}; ${missing} missing.\n`);
}

/** An unreadable row, a conflict, a gap: what a person looks at. */
const worthALine: ReadonlySet<string> = new Set(['unreadable', 'conflict', 'foreign', 'gap', 'not_a_line']);
const faulty: ReadonlySet<string> = new Set(['unreadable', 'conflict', 'not_a_line']);
/** A recording of one wrong build has a fault in each row. */
const shownAtMost = 200;

function replay(io: CliIo, files: readonly string[], flags: ReplayFlags, venues: Venues): void {
  const recording = new ReplayedRecording(Object.assign({}, ...Object.values(venues).map(({ venue }) => venue)));
  const counts = new Map<string, number>();
  const shown: Step[] = [];
  let left = 0;
  for (const step of steps(io, recording, files)) {
    counts.set(step.came, (counts.get(step.came) ?? 0) + 1);
    if (faulty.has(step.came)) io.exit(1);
    if (flags.json) printJson(io, step);
    else if (flags.order === undefined ? worthALine.has(step.came) : step.orderId === flags.order) {
      if (shown.length < shownAtMost) shown.push(step);
      else left += 1;
    }
  }
  if (flags.json) return;
  if (shown.length > 0)
    io.stdout.write(`${tableText(shown, flags.order === undefined ? faultColumns : orderColumns)}\n`);
  if (left > 0) io.stdout.write(`… and ${plural(left, 'line')} more (--json has all)\n\n`);
  const sums = [...counts].map(([came, count]) => `${count} ${came}`).join(', ');
  io.stdout.write(`${plural(recording.heads.size, 'order')}; ${sums === '' ? 'no rows' : sums}.\n`);
}

const place = ({ file, line }: Step) => `${file}:${line}`;
const faultColumns: Columns<Step> = {
  PLACE: place,
  CAME: 'came',
  ACCOUNT: 'accountId',
  ORDER: 'orderId',
  DETAIL: 'detail',
};
const orderColumns: Columns<Step> = {
  PLACE: place,
  AT: 'at',
  CAUSE: 'cause',
  CAME: 'came',
  REVISION: 'revision',
  STATUS: 'status',
  CHANGED: ({ changed }) => changed?.join(' '),
  DOUBT: 'doubt',
  DETAIL: 'detail',
};

function* steps(io: CliIo, recording: ReplayedRecording, files: readonly string[]): Generator<Step> {
  for (const file of files) {
    for (const [at, text] of textOf(io, file).split('\n').entries())
      if (text !== '') yield { file, line: at + 1, ...recording.play(text) };
  }
}

function textOf(io: CliIo, file: string): string {
  try {
    return io.readFile(file);
  } catch (error) {
    throw new ProgramError(`${file} can't be read: ${sentenceOf(error)}`, {
      code: 'NO_RECORDING',
      fix: 'Give the files of the folder that TIDEMARK_RECORD named.',
      cause: error,
    });
  }
}
