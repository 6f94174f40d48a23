import { Command, Option } from 'commander';
import { orderFilters, queryFrom } from '../contract/list-filters.ts';
import { orderAnswer, orderPage, updatePage } from '../contract/rest-answers.ts';
import { streams } from '../domain/order.ts';
import { ProgramError, usage } from '../runtime/program-error.ts';
import type { CliIo } from './io/io.ts';
import { historyText, type ListedOrder, namesOrder, orderTable, orderText, type Update } from './io/order-text.ts';
import { addFilterFlags, type ListFlags, type ListVerb, listCommand, readPages } from './rest/list-verb.ts';
import type { RestClient } from './rest/rest-client.ts';
import { type RestFlags, restExitCodes, segment } from './rest/rest-flags.ts';
import { type Verb, verbCommand } from './rest/verb.ts';

const examples = `
Examples:
  $ tidemark orders ls                                 open orders, the newest change first
  $ tidemark orders ls --all --symbol AAPL --status filled
  $ tidemark orders ls --find desk-42                  by an order's, a command's or a caller's reference
  $ tidemark orders show 7d0c1d1e-…                    its state, and each change that led to it
  $ tidemark orders ls --json | jq -r '.[].orderId'

${restExitCodes}`;

const openOf = (flags: ListFlags) => queryFrom(orderFilters, 'flag', { ...flags })['open'];

export const ordersLs: ListVerb<typeof orderPage> = {
  name: 'ls',
  does: 'Lists orders, the newest change first: open ones, or with --all also those that are over.',
  route: 'GET /v1/orders',
  flags: (command) => addFilterFlags(command, orderFilters),
  filter: (flags) => ({ ...queryFrom(orderFilters, 'flag', { ...flags }), sort: '-updatedAt' }),
  about: 'orders',
  page: orderPage,
  text: (orders, flags, io) =>
    orderTable(orders, {
      nowMs: io.clock.nowMs(),
      paint: (word) => io.colours.word(word),
      none: openOf(flags) === undefined ? 'No orders.' : 'No open orders; --all shows those that are over too.',
    }),
};

/** `orders ls` and `orders show`. */
export function ordersCommand(io: CliIo): Command {
  return new Command('orders')
    .description('Shows orders as the service has them, over REST.')
    .addCommand(listCommand(io, ordersLs))
    .addCommand(verbCommand(io, ordersShow))
    .addHelpText('after', examples);
}

interface ShowFlags extends RestFlags {
  readonly stream?: string;
}

type WithUpdates = ListedOrder & { readonly updates?: readonly Update[] };

export const ordersShow: Verb<typeof orderAnswer, ShowFlags, WithUpdates> = {
  name: 'show',
  does: 'Prints one order, and every change that led to its state.',
  route: 'GET /v1/orders/{stream}/{orderId}',
  takes: [['<order>', 'its id, or the end of it that tail shows']],
  resolve: findOrder,
  flags: (command) =>
    command.addOption(new Option('--stream <name>', 'of its stream, where both have the id').choices(streams)),
  about: 'an order',
  answer: orderAnswer,
  complete: async (order, { client }) => ({ ...order, updates: await readUpdates(client, order) }),
  text: ({ updates = [], ...order }, _flags, io) => `${orderText(order, io.clock.nowMs())}\n${historyText(updates)}`,
  json: (order, shown) => ({ order, updates: shown?.updates }),
};

/**
 * Stream and id of an order. An id alone, or its end as `tail` shows it, names one on either
 * stream: the platform gives both kinds by itself.
 */
async function findOrder(client: RestClient, id: string, { stream }: ShowFlags): Promise<readonly string[]> {
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
  if (other === undefined) return [found.stream, found.orderId];
  throw found.stream === other.stream
    ? usage(`several orders end with ${id}`, `Give the whole id: \`tidemark orders ls --find ${id}\` lists them.`)
    : usage(`both streams have an order ${id}`, 'Give --stream account or --stream prediction.');
}

/** Of an order with more changes, these are shown. */
const mostUpdates = 5_000;

async function readUpdates(client: RestClient, { stream, orderId }: ListedOrder): Promise<readonly Update[]> {
  const path = `/v1/orders/${stream}/${segment(orderId)}/updates`;
  return (await readPages(client, { about: 'orders', path, page: updatePage, most: mostUpdates, by: 'after' })).items;
}
