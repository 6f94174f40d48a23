import { Option } from 'commander';
import type { z } from 'zod';
import { commandPage } from '../../contract/rest-answers.ts';
import { ageOf, printable, tableText } from '../io/format-text.ts';
import type { CliIo } from '../io/io.ts';
import type { RestClient } from '../rest/rest-client.ts';
import { restClient } from '../rest/rest-flags.ts';
import { type ListFlags, type ListVerb, readList } from '../rest/verb.ts';
import { describeTerms, describeUnresolved, parseCommand, type RestCommand, type VenueIds } from './describe-terms.ts';

export interface CommandListFlags extends ListFlags {
  readonly unresolved?: true;
  readonly account?: string;
  readonly kind?: string;
  readonly state?: string;
  readonly ref?: string;
}

/** `command ls`: a table of commands, the newest first. */
export const commandLs: ListVerb<typeof commandPage, CommandListFlags> = {
  name: 'ls',
  does: 'Lists commands, the newest first; with --unresolved the oldest first, each with all that is known.',
  route: 'GET /v1/commands',
  flags: (command) =>
    command
      .option('--unresolved', 'only those whose outcome is unknown, or that a person has to decide')
      .option('--account <id>', 'only this account')
      .addOption(new Option('--kind <word>', 'only this kind').choices(['place', 'replace', 'cancel']))
      .option(
        '--state <word>',
        'only this state: open, refused, not_sent, accepted, unknown, applied, rejected, moot, conflict',
      )
      .option('--ref <text>', 'only with this reference of the caller'),
  filter: ({ account: accountId, kind, state, ref: callerRef, unresolved }) => ({
    ...{ accountId, kind, state, callerRef },
    unresolved: unresolved ? 'true' : undefined,
  }),
  about: 'a command',
  page: commandPage,
  text: (commands, _flags, io) => commandTable(commands, io.clock.nowMs()),
};

/**
 * `command ls --unresolved`: a block for each with its evidence and the line that settles it.
 * Oldest first: the one that has been exposed longest should be looked at first.
 */
export async function listUnresolved(io: CliIo, flags: CommandListFlags): Promise<void> {
  const client = restClient(io, flags);
  const commands = await readList(io, client, commandLs, flags);
  const shown: { readonly command: RestCommand; readonly venue: VenueIds }[] = [];
  for (const { commandId } of commands.toReversed()) {
    const { body } = await client.ask({ method: 'GET', path: `/v1/commands/${commandId}` });
    const command = parseCommand(body);
    shown.push({ command, venue: await venueIds(client, command) });
  }
  if (flags.json) io.stdout.write(`${JSON.stringify(shown.map(({ command, venue }) => ({ ...command, ...venue })))}\n`);
  else if (shown.length === 0) io.stdout.write('No command is unresolved.\n');
  else
    io.stdout.write(
      shown.map(({ command, venue }) => escaped(describeUnresolved(command, venue, io.clock.nowMs()))).join('\n'),
    );
}

/** Line by line, since the line ends are our own and must stay. */
function escaped(block: string): string {
  return block.split('\n').map(printable).join('\n');
}

async function venueIds(client: RestClient, { stream, orderId }: RestCommand): Promise<VenueIds> {
  if (orderId === undefined) return {};
  const order = await client.ask({ method: 'GET', path: `/v1/orders/${stream}/${encodeURIComponent(orderId)}` }).then(
    ({ body }) => body,
    () => undefined,
  );
  const state = order?.['order'];
  const venueOrderId =
    typeof state === 'object' && state !== null && 'venueOrderId' in state ? state.venueOrderId : undefined;
  return { orderId, ...(typeof venueOrderId === 'string' && { venueOrderId }) };
}

function commandTable(commands: z.infer<typeof commandPage>['items'], nowMs: number): string {
  return tableText(
    commands,
    {
      AGE: ({ createdAt }) => ageOf(createdAt, nowMs),
      OUTCOME: ({ outcome, presumedAbsent }) => outcome + (presumedAbsent ? ', presumed absent' : ''),
      KIND: 'kind',
      ACCOUNT: 'accountId',
      TERMS: ({ kind, terms = {} }) => describeTerms(kind, terms),
      ORDER: ({ orderId, orderStatus }) => (orderStatus === undefined ? orderId : `${orderId} (${orderStatus})`),
      COMMAND: 'commandId',
    },
    'No commands.',
  );
}
