import { ageOf, formatTable, printable } from '../io/format-text.ts';
import type { CliIo } from '../io/io.ts';
import type { RestClient } from '../rest/rest-client.ts';
import { query, type RestFlags, restClient } from '../rest/rest-flags.ts';
import {
  describeTerms,
  describeUnresolved,
  parseCommand,
  type RestCommand,
  readCommands,
  type VenueIds,
} from './describe-terms.ts';

export interface ListFlags extends RestFlags {
  readonly unresolved?: true;
  readonly account?: string;
  readonly kind?: string;
  readonly state?: string;
  readonly ref?: string;
  readonly limit: number;
}

/**
 * `command ls`: a table of commands, newest first; with `--unresolved` a block for each, with its
 * evidence and the line that settles it.
 */
export async function listCommands(io: CliIo, flags: ListFlags): Promise<void> {
  const client = restClient(io, flags);
  const { commands, more } = await readPages(client, flags);
  if (flags.unresolved) await printUnresolved(io, client, flags, commands);
  else if (flags.json) io.stdout.write(`${JSON.stringify(commands)}\n`);
  else io.stdout.write(commands.length === 0 ? 'No commands.\n' : table(commands, io.clock.nowMs()));
  if (more) io.stderr.write(`There are more: raise --limit (${flags.limit}).\n`);
}

/** Reads the service's pages until there are enough commands. */
async function readPages(client: RestClient, flags: ListFlags): Promise<{ commands: RestCommand[]; more: boolean }> {
  const commands: RestCommand[] = [];
  let cursor: string | undefined;
  for (;;) {
    const { account, kind, state, ref, unresolved, limit } = flags;
    const path = query({
      accountId: account,
      kind,
      state,
      callerRef: ref,
      unresolved: unresolved ? 'true' : undefined,
      limit: String(Math.min(500, limit - commands.length)),
      cursor,
    });
    const { body } = await client.ask({ method: 'GET', path: `/v1/commands${path}` });
    commands.push(...readCommands(body));
    cursor = typeof body['next'] === 'string' ? body['next'] : undefined;
    if (cursor === undefined || commands.length >= limit) return { commands, more: cursor !== undefined };
  }
}

/** Oldest first: the one that has been exposed longest should be looked at first. */
async function printUnresolved(
  io: CliIo,
  client: RestClient,
  flags: ListFlags,
  commands: readonly RestCommand[],
): Promise<void> {
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

function table(commands: readonly RestCommand[], nowMs: number): string {
  const rows = commands.map((command) => [
    ageOf(command.createdAt, nowMs),
    command.outcome + (command.presumedAbsent ? ', presumed absent' : ''),
    command.kind,
    command.accountId,
    describeTerms(command.kind, command.terms ?? {}),
    command.orderStatus === undefined ? (command.orderId ?? '-') : `${command.orderId} (${command.orderStatus})`,
    command.commandId,
  ]);
  return formatTable([
    ['AGE', 'OUTCOME', 'KIND', 'ACCOUNT', 'TERMS', 'ORDER', 'COMMAND'],
    ...rows.map((row) => row.map(printable)),
  ]);
}
