import { type Command, Option } from 'commander';
import type { z } from 'zod';
import { type Filters, nameOn } from '../../contract/list-filters.ts';
import { flagName, numberBetween } from '../io/flag-text.ts';
import { type CliIo, printResult } from '../io/io.ts';
import type { RestClient } from './rest-client.ts';
import { query, type RestFlags, restClient } from './rest-flags.ts';
import { commandOf, type Verb, type VerbRun } from './verb.ts';

export interface ListFlags extends RestFlags {
  readonly limit: number;
}

/** A verb for a list of REST: `--limit` rows, `--json` as an array. */
export interface ListVerb<
  Page extends z.ZodType<Listed>,
  Flags extends ListFlags = ListFlags,
  Row = z.infer<Page>['items'][number],
> extends Pick<Verb<Page, Flags>, 'name' | 'does' | 'help' | 'flags' | 'about'> {
  readonly route: `GET /v1/${string}`;
  /** What the flags say to REST. */
  readonly filter: (flags: Flags) => Readonly<Record<string, string | undefined>>;
  readonly page: Page;
  /** The rows as shown, if that needs further requests. */
  readonly complete?: (
    rows: z.infer<Page>['items'],
    run: Pick<VerbRun<Flags>, 'client' | 'flags'>,
  ) => Promise<readonly Row[]>;
  readonly text: (rows: readonly Row[], flags: Flags, io: CliIo) => string;
}

/** The list as a command. */
export function listCommand<Page extends z.ZodType<Listed>, Flags extends ListFlags, Row>(
  io: CliIo,
  verb: ListVerb<Page, Flags, Row>,
): Command {
  const flags = (command: Command) =>
    (verb.flags?.(command) ?? command).option('--limit <n>', 'at most so many', numberBetween(1, 9999), 50);
  return commandOf<Flags>({ ...verb, flags }, (_args, given) => runList(io, verb, given));
}

const values = {
  account: 'id',
  symbol: 'symbol',
  time: 'time',
  search: 'text',
  key: 'text',
  reference: 'text',
} as const;

/** A flag for each filter of a list. */
export function addFilterFlags(command: Command, filters: Filters): Command {
  for (const [name, filter] of Object.entries(filters)) {
    const { takes } = filter;
    const flag = `--${flagName(nameOn('flag', name, filter))}`;
    const about = filter.off?.about ?? filter.about;
    const says = `${about.charAt(0).toLowerCase()}${about.slice(1).replaceAll('`', '')}`;
    if (takes === 'flag') command.option(flag, says);
    else if (typeof takes === 'string') command.option(`${flag} <${values[takes]}>`, says);
    else command.addOption(new Option(`${flag} <word>`, says).choices([...takes]));
  }
  return command;
}

/** Reads, prints the rows, and says on stderr if there are more. */
async function runList<Page extends z.ZodType<Listed>, Flags extends ListFlags, Row>(
  io: CliIo,
  { about, route, filter, page, complete, text }: ListVerb<Page, Flags, Row>,
  flags: Flags,
): Promise<void> {
  const client = restClient(io, flags);
  const list = { about, page, path: route.slice(4), filter: filter(flags), most: flags.limit };
  const { items, more } = await readPages(client, list);
  if (more) io.stderr.write(`There are more: raise --limit (${flags.limit}).\n`);
  const rows = (await complete?.(items, { client, flags })) ?? (items as Row[]);
  printResult(io, flags, rows, text(rows, flags, io));
}

/** A page of any list. */
interface Listed {
  readonly items: readonly unknown[];
  readonly next?: string | undefined;
}

const mostOfAPage = 500;

/**
 * Reads pages until there are so many rows, or no more. A page with few matches may be empty and
 * still have a next one.
 */
export async function readPages<Page extends z.ZodType<Listed>>(
  client: RestClient,
  list: {
    readonly about: string;
    readonly path: string;
    readonly filter?: Readonly<Record<string, string | undefined>>;
    readonly page: Page;
    readonly most: number;
    /** The next page's parameter; `cursor` if left out. */
    readonly by?: 'after';
  },
): Promise<{ readonly items: z.infer<Page>['items'][number][]; readonly more: boolean }> {
  const items: z.infer<Page>['items'][number][] = [];
  let from: string | undefined;
  do {
    const limit = String(Math.min(mostOfAPage, list.most - items.length));
    const path = `${list.path}${query({ ...list.filter, limit, [list.by ?? 'cursor']: from })}`;
    const page = await client.read(path, list.about, list.page);
    items.push(...page.items);
    from = page.next;
  } while (from !== undefined && items.length < list.most);
  return { items, more: from !== undefined };
}
