import { addressOf } from './address.ts';
import type { LoadState } from './console-state.ts';
import type { Doubt, StatusState } from './status-watch.ts';
import type { StreamState } from './stream-client.ts';
import { wordsOf } from './text/word-text.ts';

/** Silence for longer than the service ever keeps: two heartbeats are missing. */
export const isTooSilent = (silentMs = 0): boolean => silentMs > 32_000;

/** What the page knows of its own orders. */
interface OwnState {
  readonly stream: StreamState;
  readonly silentMs: number | undefined;
  readonly openOrders: LoadState;
}

/** The page's own doubts, before the service's. `own`: undefined for a token without orders. */
export function allDoubts(own: OwnState | undefined, { doubts = [] }: StatusState): readonly Doubt[] {
  if (own === undefined) return doubts;
  const { stream, silentMs, openOrders } = own;
  const shown = streamDoubts(stream, silentMs);
  if (openOrders.kind === 'failed')
    shown.push({ name: 'orders_unread', detail: `Open orders are missing: ${openOrders.why}.` });
  return [...shown, ...doubts];
}

function streamDoubts(state: StreamState, silentMs: number | undefined): Doubt[] {
  if (state.kind === 'connecting') return [{ name: 'connecting', detail: 'The stream of updates is not open yet.' }];
  if (state.kind !== 'live')
    return [
      { name: 'stream_cut', detail: `${state.kind === 'waiting' ? state.why : 'it ended'}; these orders may be old.` },
    ];
  if (isTooSilent(silentMs))
    return [{ name: 'stream_silent', detail: 'The stream is open but says nothing; these orders may be old.' }];
  return [];
}

const lost = ['stream_cut', 'stream_silent', 'service_silent'];

/** Why an order may not reach the service at all, in one sentence. */
export function lossOf(doubts: readonly Doubt[]): string | undefined {
  const loss = doubts.find(({ name }) => lost.includes(name));
  return loss && `${doubtName(loss.name)}: ${loss.detail}`;
}

/** The name of a doubt for people. */
export const doubtName = wordsOf({
  connecting: 'Connecting',
  stream_cut: 'Stream cut',
  stream_silent: 'Stream silent',
  orders_unread: 'Orders not all read',
  service_silent: 'Service silent',
  no_holder: 'No process in charge',
  standby: 'On standby',
  shards_unassigned: 'Accounts without a process',
  account_not_live: 'Account not live',
  accounts_unfollowed: 'Account not followed',
  login_required: 'Login needed',
  canary_late: 'Heartbeat late',
  rows_not_stored: 'Changes not stored',
  rows_unsent: 'Changes not sent',
  commands_unresolved: 'Results unknown',
  orders_out_of_reach: 'Orders out of reach',
  topics_replaced: 'Topic made again',
  topics_differ: 'Topics not as planned',
  clock_skewed: 'Clocks disagree',
  halted: 'Halted',
  silent_losses: 'Silent losses, healed',
  dead_letters: 'Dead letters',
  instances_unanswered: 'Instance silent',
});

const pages: Readonly<Record<string, Parameters<typeof addressOf>[0]>> = {
  no_holder: 'pipeline',
  standby: 'pipeline',
  canary_late: 'pipeline',
  rows_not_stored: 'pipeline',
  rows_unsent: 'pipeline',
  topics_replaced: 'pipeline',
  topics_differ: 'pipeline',
  clock_skewed: 'pipeline',
  instances_unanswered: 'pipeline',
  shards_unassigned: 'accounts',
  account_not_live: 'accounts',
  silent_losses: 'accounts',
  commands_unresolved: 'commands',
  halted: 'risk',
  dead_letters: 'deadLetters',
};

/** The screen for a doubt's subject. */
export function doubtAddress(name: string): string {
  return addressOf(pages[name] ?? 'blotter');
}
