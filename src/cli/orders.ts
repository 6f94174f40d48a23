import { Command, Option } from 'commander';
import { orderPage, updatePage } from '../contract/rest-answers.ts';
import { orderStatuses } from '../domain/order.ts';
import { ProgramError } from '../runtime/program-error.ts';
import type { CliIo } from './io/io.ts';
import { historyText, type ListedOrder, orderTable, orderText, type Update } from './io/order-text.ts';
import { namesOrder } from './io/short-id.ts';
import { usage } from './io/usage.ts';
import { readPages } from './rest/read-pages.ts';
import { type RestClient, understood } from './rest/rest-client.ts';
import { addRestFlags, query, type RestFlags, restClient, restExitCodes, segment } from './rest/rest-flags.ts';
import { type ListFlags, type ListVerb, listCommand } from './rest/verb.ts';

const examples = `
Examples:
  $ tidemark orders ls                                 open orders, the newest change first
  $ tidemark orders ls --all --symbol AAPL --status filled
  $ tidemark orders ls --find desk-42                  by an order's, a command's or a caller's reference
  $ tidemark orders show 7d0c1d1e-…                    its state, and each change that led to it
  $ tidemark orders ls --json | jq -r '.[].orderId'

${restExitCodes}`;

interface OrderListFlags extends ListFlags {
  readonly account?: string;
  readonly stream?: string;
  readonly symbol?: string;
  readonly status?: string;
  readonly side?: string;
  readonly origin?: string;
  readonly find?: string;
  readonly since?: string;
  readonly all?: true;
}

interface ShowFlags extends RestFlags {
  readonly stream?: string;
}

const streams = ['account', 'prediction'];

// A status names orders that are over as well as open ones.
const isOfAll = ({ all, status }: OrderListFlags) => all === true || status !== undefined;

export const ordersLs: ListVerb<typeof orderPage, OrderListFlags> = {
  name: 'ls',
  does: 'Lists orders, the newest change first: open ones, or with --all also those that are over.',
  route: 'GET /v1/orders',
  flags: (command) =>
    command
      .option('--all', 'also orders that are over')
      .option('--account <id>', 'only this account')
      .addOption(new Option('--stream <name>', 'only this stream').choices(streams))
      .option('--symbol <symbol>', 'only this symbol, in any spelling')
      .addOption(new Option('--status <word>', 'only this status').choices([...orderStatuses]))
      .addOption(new Option('--side <word>', 'only this direction').choices(['buy', 'sell']))
      .addOption(
        new Option('--origin <word>', 'only orders placed here, or elsewhere').choices(['tidemark', 'external']),
      )
      .option('--find <text>', 'an id or a reference, whole or a part of it')
      .option('--since <time>', 'only orders that changed at this time (ISO 8601) or later'),
  filter: (flags) => {
    const { account: accountId, stream, symbol, status, side, origin, find: q, since } = flags;
    const open = isOfAll(flags) ? undefined : 'true';
    return { accountId, stream, symbol, status, side, origin, q, since, open, sort: '-updatedAt' };
  },
  about: 'orders',
  page: orderPage,
  text: (orders, flags, io) => {
    if (orders.length > 0) return orderTable(orders, io.clock.nowMs(), (word) => io.colours.word(word));
    return isOfAll(flags) ? 'No orders.\n' : 'No open orders; --all shows those that are over too.\n';
  },
};

/** `orders ls` and `orders show`. */
export function ordersCommand(io: CliIo): Command {
  const command = new Command('orders')
    .description('Shows orders as the service has them, over REST.')
    .addCommand(listCommand(io, ordersLs))
    .addHelpText('after', examples);
  addRestFlags(
    command
      .command('show')
      .description('Prints one order, and every change that led to its state.')
      .argument('<order>', 'its id, or the end of it that tail shows')
      .addOption(new Option('--stream <name>', 'of its stream, where both have the id').choices(streams)),
  ).action((id: string, flags: ShowFlags) => showOrder(io, id, flags));
  return command;
}

async function showOrder(io: CliIo, id: string, flags: ShowFlags): Promise<void> {
  const client = restClient(io, flags);
  const order = await findOrder(client, id, flags.stream);
  const updates = await readUpdates(client, order);
  if (flags.json) io.stdout.write(`${JSON.stringify({ order, updates })}\n`);
  else io.stdout.write(`${orderText(order, io.clock.nowMs())}\n${historyText(updates)}`);
}

/**
 * An id alone, or the end of it that `tail` shows, names an order on either stream: the platform
 * gives both kinds of id by itself.
 */
async function findOrder(client: RestClient, id: string, stream: string | undefined): Promise<ListedOrder> {
  segment(id);
  const list = { about: 'orders', path: '/v1/orders', filter: { q: id, stream }, page: orderPage, most: 100 };
  const { items: orders } = await readPages(client, list);
  const whole = orders.filter(({ orderId }) => orderId === id);
  const [found, other] = whole.length > 0 ? whole : orders.filter(({ orderId }) => namesOrder(id, orderId));
  if (found === undefined)
    throw new ProgramError(`there is no order ${id}, or this token may not see it`, {
      code: 'ORDER_NOT_FOUND',
      fix: 'Give the whole id, or its end as tail shows it. `tidemark orders ls --all --find TEXT` takes any part of it.',
    });
  if (other === undefined) return found;
  const isOneStream = found.stream === other.stream;
  throw isOneStream
    ? usage(`several orders end with ${id}`, `Give the whole id: \`tidemark orders ls --find ${id}\` lists them.`)
    : usage(`both streams have an order ${id}`, 'Give --stream account or --stream prediction.');
}

const pageSize = '500';
/** An order of more changes is shown up to here. */
const mostUpdates = 5_000;

async function readUpdates(client: RestClient, { stream, orderId }: ListedOrder): Promise<readonly Update[]> {
  const updates: Update[] = [];
  let after: string | undefined;
  do {
    const path = `/v1/orders/${stream}/${segment(orderId)}/updates${query({ limit: pageSize, after })}`;
    const page = understood('orders', updatePage, (await client.ask({ method: 'GET', path })).body);
    updates.push(...page.items);
    after = page.next;
  } while (after !== undefined && updates.length < mostUpdates);
  return updates;
}
