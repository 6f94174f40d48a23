import { rm } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import type { Ambient } from '../observability/ambient.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import { portFault } from '../runtime/program-error.ts';
import type { Random } from '../runtime/random.ts';
import { makeTemporaryFolder } from '../runtime/temporary-folder.ts';
import { openAuth } from './auth/open-auth.ts';
import { createControlApp } from './control/control-app.ts';
import { Controls } from './control/controls.ts';
import { DayPrices } from './data/day-prices.ts';
import { describeSandbox, type SandboxDescription } from './describe-sandbox.ts';
import { type OpenEntryDeps, openOrderEntry } from './entry/open-order-entry.ts';
import type { EntryDeps } from './entry/write.ts';
import { type ChangeListener, Exchange } from './exchange/exchange.ts';
import type { ExchangeOrder } from './exchange/exchange-order.ts';
import type { VenueWords } from './exchange/venue-words.ts';
import { Concealments, HangingSockets } from './faults/concealments.ts';
import { FaultPlan } from './faults/fault-plan.ts';
import { Uncertainty } from './faults/uncertainty.ts';
import { Wire } from './faults/wire-words.ts';
import { Ledger } from './ledger/ledger.ts';
import { Market, type MarketOptions } from './market/market.ts';
import { Pacer } from './market/pacer.ts';
import { seedOrders } from './market/seed-orders.ts';
import { type Cast, castOf, registerCast } from './register-cast.ts';
import { createPlatformApp } from './rest/platform-app.ts';
import { type Moment, rateOf, type SandboxInput, type SandboxOptions, sandboxOptions } from './sandbox-options.ts';
import type { SandboxParts } from './sandbox-parts.ts';
import { seededRandom } from './seeded-random.ts';
import { platformWords } from './stream/client-message.ts';
import { EventFaults } from './stream/event-faults.ts';
import { EventFeed } from './stream/event-feed.ts';
import { platformProtocol } from './stream/platform-protocol.ts';
import { type StreamProtocol, StreamServer } from './stream/stream-server.ts';
import { Subscriptions } from './stream/stream-session.ts';
import { UserRecords } from './users/user-records.ts';

/** Carries out each scenario moment at its time. Returns the way to stop. */
function playTimeline(deps: { clock: Clock; controls: Controls }, moments: readonly Moment[]): () => void {
  const timers: Timer[] = moments.map((moment) => deps.clock.after(moment.atMs, () => play(deps.controls, moment)));
  return () => {
    for (const timer of timers) timer.cancel();
  };
}

/** Heals first, so that one moment can end old faults and begin new ones. */
function play(controls: Controls, moment: Moment): void {
  if (moment.heal === true) controls.heal();
  if (moment.faults !== undefined) controls.faults(moment.faults);
  if (moment.venue !== undefined) controls.setVenue(moment.venue);
  if (moment.rate !== undefined) controls.setRate(rateOf(moment.rate));
  if (moment.burst !== undefined) controls.burst(moment.burst);
}

export interface SandboxDeps extends Pick<Ambient, 'clock' | 'log'> {
  /** For ids and keys. The market's moves come from the seed alone. */
  readonly random: Random;
}

/** The control port has one more. */
type SandboxAddresses<Listener extends string> = Readonly<Record<Listener | 'control', string>>;

/**
 * What a venue gives of its own: listeners, words and a stream. All share the exchange, the market,
 * the faults, the ledger and the control port.
 */
export interface EmulatedVenue<Listener extends keyof SandboxOptions['ports'], Description> {
  readonly words: VenueWords;
  /** Where the market differs here. */
  readonly market: Partial<MarketOptions>;
  /** Account orders too wait for the venue's answer. */
  readonly answersEveryOrder: boolean;
  /** After each change in the exchange. */
  readonly changed: (entry: EntryDeps, order: ExchangeOrder, step: string) => void;
  readonly cast: (options: SandboxOptions) => Cast;
  readonly protocol: (parts: SandboxParts) => StreamProtocol;
  readonly apps: (parts: SandboxParts, options: SandboxOptions) => Readonly<Record<Listener, FastifyInstance>>;
  /** The listeners with its stream. */
  readonly streamsOn: readonly Listener[];
  /** It listens now. Answers with everything for its clients. */
  readonly opened: (parts: SandboxParts, addresses: SandboxAddresses<Listener>, cast: Cast) => Description;
}

const platform: EmulatedVenue<'platform' | 'staging' | 'auth', SandboxDescription> = {
  words: platformWords,
  market: {},
  answersEveryOrder: false,
  changed: () => {},
  cast: castOf,
  protocol: platformProtocol,
  apps: (parts) => ({
    platform: createPlatformApp('platform', parts),
    staging: createPlatformApp('staging', parts),
    auth: createPlatformApp('auth', parts),
  }),
  streamsOn: ['platform', 'staging'],
  opened: (parts, addresses, cast) => {
    parts.tokens.issuer = addresses.platform;
    parts.signIns.screenAddress = addresses.auth;
    return describeSandbox(addresses, cast);
  },
};

/** A venue in this process, on real sockets. */
export interface RunningSandbox<Description = SandboxDescription> {
  readonly description: Description;
  /** The control port's verbs, without HTTP. */
  readonly controls: Controls;
  readonly parts: SandboxParts;
  /** Resolves when it was asked to stop (`POST /stop`). */
  readonly stopAsked: Promise<void>;
  /** Ends every connection and removes the ledger's files. May be called twice. */
  stop(): Promise<void>;
}

const stopGraceMs = 500;
/** Beyond it a reader is behind: the market waits when it runs as fast as it can. */
const readerBehindBytes = 1024 * 1024;
const segmentBytes = 256 * 1024 * 1024;

/**
 * Starts the platform, on loopback unless the options say otherwise. `input` may leave everything
 * out. Rejects when a port is taken or the options are wrong (a `ZodError`).
 */
export function startSandbox(input: SandboxInput, deps: SandboxDeps): Promise<RunningSandbox> {
  return startVenue(platform, input, deps);
}

/** Starts any of them, as `startSandbox` does. */
export async function startVenue<Listener extends keyof SandboxOptions['ports'], Description>(
  venue: EmulatedVenue<Listener, Description>,
  input: SandboxInput,
  deps: SandboxDeps,
): Promise<RunningSandbox<Description>> {
  const options = sandboxOptions.parse(input);
  const folder = await makeTemporaryFolder('tidemark-sandbox-');
  const core = await assemble(venue, options, folder, deps);
  const { parts, controls, pacer, streams, uncertainty } = core;
  let askStop = () => {};
  const stopAsked = new Promise<void>((resolve) => {
    askStop = resolve;
  });
  const apps = {
    ...venue.apps(parts, options),
    control: createControlApp({ parts, controls, onStop: askStop, host: options.host }),
  };
  for (const name of venue.streamsOn) streams.attach(apps[name].server, name);
  let stopTimeline = () => {};
  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    stopTimeline();
    pacer.stop();
    uncertainty.stop();
    parts.entry.venue.stop();
    parts.entry.lateWrites.stop();
    parts.concealments.stop();
    parts.hanging.cutAll();
    await streams.stop(stopGraceMs);
    await Promise.all(Object.values<FastifyInstance>(apps).map((app) => app.close()));
    await parts.ledger.close();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const addresses = await listen<Listener | 'control'>(apps, options);
    const description = venue.opened(parts, addresses, core.cast);
    pacer.start();
    stopTimeline = playTimeline({ clock: deps.clock, controls }, options.timeline);
    return { description, controls, parts, stopAsked, stop: () => (stopping ??= stop()) };
  } catch (error) {
    await stop();
    throw error;
  }
}

type AnyVenue = Pick<
  EmulatedVenue<never, unknown>,
  'words' | 'market' | 'answersEveryOrder' | 'changed' | 'cast' | 'protocol'
>;

async function assemble(
  venue: AnyVenue,
  options: SandboxOptions,
  folder: string,
  { clock, random: ids, log }: SandboxDeps,
) {
  const { words } = venue;
  const seed = options.market.seed;
  const subscriptions = new Subscriptions();
  const ledger = new Ledger({ clock }, { folder, segmentBytes, maxBytes: options.ledger.maxBytes });
  const onChange: ChangeListener = (order, step) => {
    if (step === 'placed') concealments.meet(order);
    feed.publish(order, step);
    entry.venue.changed(order);
    venue.changed(entry, order, step);
  };
  const onForgotten = (order: ExchangeOrder) => {
    market.release(order);
    entry.venue.forget(order);
  };
  const idOf = (given: string) => wire.idOf(given);
  const exchange = new Exchange({ clock, onChange, onForgotten, idOf, rowOf: words.row }, options.market);
  const cast = venue.cast(options);
  const auth = await openAuth({ clock, random: ids, directory: registerCast(exchange, cast) }, options.tokens);
  // Seeds of their own: faults and people's actions leave the market's draws as they are.
  const faults = new FaultPlan(seededRandom(seed ^ 0x0fa0175));
  const hanging = new HangingSockets();
  const wire = new Wire(seededRandom(seed ^ 0x0b0a5d));
  const concealments = new Concealments({ clock, plan: faults, ledger, onShown: (order) => feed.show(order) });
  const marketRandom = seededRandom(seed);
  const market = new Market({ exchange, random: marketRandom, clock }, { ...options.market, ...venue.market });
  const prices = new DayPrices({ clock, instruments: market.inventor.equities }, seed);
  const data = { prices, seed, ...options.research };
  const during: OpenEntryDeps['during'] = (cause, work) => feed.during(cause, work);
  const { answersEveryOrder } = venue;
  const entryDeps = { clock, random: ids, exchange, market, during, answersEveryOrder };
  const entry = openOrderEntry(entryDeps, options.venue, seed);
  const users = new UserRecords();
  const eventRandom = seededRandom(seed ^ 0x0e7e275);
  const eventFaults = new EventFaults({ plan: faults, concealments, exchange, ledger, random: eventRandom, words });
  const faulty = { faults, eventFaults, hanging, concealments, wire, words };
  const parts: SandboxParts = { clock, log, exchange, ...auth, users, data, ledger, subscriptions, ...faulty, entry };
  const feed = new EventFeed(parts, options.ledger);
  ledger.enter('start', { options: { ...options, users: undefined, clients: undefined } });
  seedOrders({ exchange, market, random: marketRandom, clock }, options.market);
  const step = () => feed.during('market', () => market.step());
  // The market waits while the ledger is behind; as fast as it can, also while its readers are.
  const held = (unpaced: boolean) => ledger.behind || (unpaced && subscriptions.behind(readerBehindBytes));
  const { rate, catchUpMs } = options.market;
  const pacer = new Pacer({ clock, step, held }, { rate: rateOf(rate), catchUpMs });
  const uncertainty = new Uncertainty({ exchange, clock });
  const random = seededRandom(seed ^ 0x0c0de);
  const controls = new Controls({ parts, uncertainty, market, pacer, feed, random });
  const streams = new StreamServer(parts, venue.protocol(parts), options.stream);
  return { parts, cast, controls, pacer, streams, uncertainty };
}

const portFlags = {
  platform: '--port',
  staging: '--staging-port',
  auth: '--auth-port',
  control: '--control-port',
} as const;

async function listen<Name extends keyof SandboxOptions['ports']>(
  apps: Readonly<Record<Name, FastifyInstance>>,
  { host, ports }: Pick<SandboxOptions, 'host' | 'ports'>,
): Promise<Readonly<Record<Name, string>>> {
  const bind = async ([name, app]: [Name, FastifyInstance]) => {
    try {
      return [name, await app.listen({ host, port: ports[name] })] as const;
    } catch (error) {
      throw portFault(error, { host, port: ports[name], setting: portFlags[name] });
    }
  };
  const bound = await Promise.all((Object.entries(apps) as [Name, FastifyInstance][]).map(bind));
  return Object.fromEntries(bound) as Record<Name, string>;
}
