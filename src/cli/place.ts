import { InvalidArgumentError, Option } from 'commander';
import { replaceBodyOf } from '../contract/replace-terms.ts';
import type { Stream } from '../domain/order.ts';
import { replaceableSecurities } from '../domain/streams.ts';
import { addRevisionFlag, ifMatch, type RevisionFlags, type sentAnswer, sentFields } from './command/sent-command.ts';
import { each } from './rest/each-verb.ts';
import type { KeyFlags } from './rest/request-key.ts';
import { refuseFlags, restExitCodes, streamOption } from './rest/rest-flags.ts';
import type { Verb } from './rest/verb.ts';

const examples = `
Examples:
  $ tidemark place --account SIM-1001 --symbol AAPL --side buy --type limit --qty 10 --price 187.5
  $ tidemark place --account SIM-1001 --symbol KO --side sell --type stop --qty 100 --stop-price 58 --tif gtc --wait 5
  $ tidemark place --prediction --account SIM-1001 --symbol FED-CUT-DEC26 --outcome YES --side buy --type limit --qty 50 --price 0.42
  $ tidemark place … --idempotency-key rebalance-7 --json | jq -r .result
  $ tidemark place … --leg AAPL261218C00200000:BUY:1:OPEN --leg AAPL261218C00210000:SELL:1:OPEN

A command that a \`504\` of the platform left open is unknown (exit code 75) until the service finds out; it is never sent again by itself.
${restExitCodes}`;

interface PlaceFlags extends KeyFlags {
  readonly prediction?: true;
  readonly account: string;
  readonly symbol: string;
  readonly side: string;
  readonly type: string;
  readonly qty: string;
  readonly tif: string;
  readonly outcome?: string;
  readonly price?: string;
  readonly stopPrice?: string;
  readonly expireTime?: string;
  readonly ref?: string;
  readonly stream?: string;
  readonly currency?: string;
  readonly destination?: string;
  readonly extendedHours?: true;
  readonly leg?: readonly string[];
  readonly supersedes?: string;
}

/** The service checks every rule; here only upper and lower case are adapted. */
export const placeVerb: Verb<typeof sentAnswer, PlaceFlags> = {
  name: 'place',
  does: 'Places an order: equities and options, or with --prediction on a prediction market.',
  help: examples,
  route: ['POST /v1/orders', 'POST /v1/predictions/orders'],
  isSecond: ({ prediction = false }) => prediction,
  flags: (command) =>
    command
      .requiredOption('--account <id>', 'account to trade on')
      .requiredOption('--symbol <symbol>', 'instrument')
      .requiredOption('--side <side>', 'buy, sell; for equities also sell_short, buy_to_cover', oneOf(...sides))
      .requiredOption('--type <type>', 'market, limit, stop, stop_limit', oneOf(...types))
      .requiredOption('--qty <decimal>', 'total quantity')
      .option('--tif <word>', 'time in force: day, gtc, ioc, fok; on prediction markets also gtd', 'day')
      .option('--price <decimal>', 'limit price')
      .option('--stop-price <decimal>', 'price that triggers a stop')
      .option('--prediction', 'a prediction order')
      .addOption(streamOption())
      .option('--outcome <word>', 'prediction orders: YES or NO')
      .option('--expire-time <instant>', 'prediction orders, gtd: when it ends, as 2026-12-31T21:00:00Z')
      .option('--currency <code>', 'account orders: three letters')
      .option('--destination <name>', 'account orders: exchange destination')
      .option('--extended-hours', 'with --stream, where its venue has it: also before and after the regular session')
      .option(
        '--leg <symbol:side:ratio:effect>',
        'account orders: an option leg (OPEN or CLOSE); up to four',
        each(String),
      )
      .option('--ref <text>', 'your own reference; it comes back as callerRef on every update of the order')
      .option('--supersedes <command>', 'the presumed absent command that this one takes the place of'),
  ask: (flags) => ({ body: flags.prediction ? predictionBody(flags) : accountBody(flags) }),
  ...sentFields,
};

const replaceExamples = `
Examples:
  $ tidemark replace 7d0c2f6e-… --account SIM-1001 --price 0.45
  $ tidemark replace 7d0c2f6e-… --account SIM-1001 --qty 80 --price 0.45 --wait 10
  $ tidemark replace 7d0c2f6e-… --account SIM-1001 --qty 80 --if-revision 4      refused (412) if it has changed since
  $ tidemark replace 904837e3-… --account e6fe16f3-… --stream ${replaceableSecurities[0]} --price 187.6

Prediction orders can be replaced, and with --stream the orders of these venues, where it makes a new order. For other account orders there is cancel and a new order. --qty is the
new total, filled part included.
${restExitCodes}`;

interface ReplaceFlags extends KeyFlags, RevisionFlags {
  readonly account: string;
  readonly qty?: string;
  readonly price?: string;
  readonly stopPrice?: string;
  readonly tif?: string;
  readonly expireTime?: string;
  readonly stream?: Stream;
}

export const replaceVerb: Verb<typeof sentAnswer, ReplaceFlags> = {
  name: 'replace',
  does: 'Changes terms of a working order; terms that are left out stay as they are.',
  help: replaceExamples,
  route: ['PATCH /v1/predictions/orders/{orderId}', 'PATCH /v1/orders/{orderId}'],
  isSecond: ({ stream }) => stream !== undefined,
  takes: [['<order>', 'whole id of the order']],
  flags: (command) =>
    addRevisionFlag(
      command
        .requiredOption('--account <id>', 'account of the order')
        .option('--qty <decimal>', 'new total quantity')
        .option('--price <decimal>', 'new limit price')
        .option('--stop-price <decimal>', 'new stop price')
        .option('--tif <word>', 'new time in force')
        .option('--expire-time <instant>', 'new expiry of a gtd order')
        .addOption(
          new Option('--stream <name>', 'the stream of an order for equities or options').choices(
            replaceableSecurities,
          ),
        ),
    ),
  ask: (flags) => {
    const { account: accountId, stream, qty, price, stopPrice, tif, expireTime, ifRevision } = flags;
    if (stream !== undefined) refuseFlags(flags, ['expireTime'], 'belongs to prediction orders');
    const expires = expireTime !== undefined && { expireTime };
    const terms = { quantity: qty, price, stopPx: stopPrice, timeInForce: tif?.toLowerCase(), ...expires };
    return { headers: ifMatch(ifRevision), body: replaceBodyOf({ stream: stream ?? 'prediction', accountId }, terms) };
  },
  ...sentFields,
};

const sides = ['buy', 'sell', 'sell_short', 'buy_to_cover'];
const types = ['market', 'limit', 'stop', 'stop_limit'];

/** In upper or lower case. */
function oneOf(...words: readonly string[]): (text: string) => string {
  return (text) => {
    if (words.includes(text.toLowerCase())) return text;
    throw new InvalidArgumentError(`It must be one of: ${words.join(', ')}.`);
  };
}

/** JSON leaves undefined fields out. */
function accountBody(flags: PlaceFlags): object {
  refuseFlags(flags, ['outcome', 'expireTime'], 'belongs to --prediction');
  const { account: accountId, side, type, tif, ref: clientId, destination: exDestination, leg, ...others } = flags;
  const { stream, symbol, qty, price, stopPrice, currency, extendedHours, supersedes } = others;
  return {
    accountId,
    stream,
    symbol,
    side: side.toUpperCase(),
    type: type.toUpperCase(),
    qty,
    timeInForce: tif.toUpperCase(),
    clientId,
    price,
    stopPrice,
    currency,
    exDestination,
    extendedHours,
    legs: leg?.map(legOf),
    supersedes,
  };
}

function predictionBody(flags: PlaceFlags): object {
  refuseFlags(flags, ['currency', 'destination', 'extendedHours', 'leg', 'stream'], 'does not belong to --prediction');
  const { account: accountId, qty: quantity, stopPrice: stopPx, ref: clientOrderRef, ...others } = flags;
  const { symbol, outcome, side, type, tif, price, expireTime, supersedes } = others;
  return {
    accountId,
    symbol,
    outcome: outcome?.toUpperCase(),
    side: side.toLowerCase(),
    orderType: type.toLowerCase(),
    timeInForce: tif.toLowerCase(),
    quantity,
    price,
    stopPx,
    expireTime,
    clientOrderRef,
    supersedes,
  };
}

function legOf(text: string): object {
  const [symbol, side = '', ratioQty, effect = ''] = text.split(':');
  return { symbol, side: side.toUpperCase(), ratioQty, positionEffect: effect.toUpperCase() };
}
