import { awaitsVenue, type Command } from '../../domain/command.ts';
import { isTerminal } from '../../domain/order.ts';
import type { BoundOrder, Settling, SettlingUpdate } from '../../domain/settling.ts';

/**
 * A command that is not over, as it is followed in memory. Everything here except `command` can be
 * read again from the journal.
 */
export interface Watched {
  /** The version committed last, as far as we know. */
  command: Command;
  /** Monotonic time of its submission; of a command that was taken over, the same as `sentAtMs`. */
  readonly openedAtMs: number;
  /**
   * Monotonic time of the last possible send: its age counts from here. A
   * step of the wall clock makes nothing older.
   */
  sentAtMs: number;
  /**
   * Monotonic time since which this process follows it. For a command that was taken over,
   * `sentAtMs` comes from the wall clocks of two processes, and either may be wrong by an hour: a
   * presumption that takes ten minutes must take ten minutes of one clock.
   */
  readonly watchedSinceMs: number;
  /** Above 0: an attempt of it is in hand, and may be so even when its state is final. */
  attemptsInHand: number;
  /** Place: orders seen to carry an id of its attempts. */
  bound: readonly BoundOrder[];
  /**
   * Replace, cancel: its order's updates above the baseline; place: those of each bound order.
   * Oldest first, without a gap.
   */
  updates: readonly SettlingUpdate[];
  /** Replace: the result of the look for an order that took the place of its order. */
  successor: Settling['successor'];
  /**
   * Cancel of an order that had ended before: a complete read that
   * began later has shown nothing new of it.
   */
  stillEnded: boolean;
  /**
   * Cancel: command ids of other cancels of the order that may have been in flight at the same
   * time, so that "seen pending" may have been one of those.
   */
  readonly rivals: Set<string>;
  /**
   * Cancel: the journal has not been asked for rivals. Those that were over when this process began
   * to follow it are not in memory.
   */
  rivalsUnread: boolean;
  /** The journal has to be asked for updates and bindings: some may have been missed. */
  behind: boolean;
  /**
   * The warnings given to people already, so that each is given once a term: `warned`, `alarmed`,
   * `source_epoch_changed` …
   */
  readonly warnings: Set<string>;
}

/** `sentAtMs`: see `Watched`. `nowMs`: monotonic. */
export function watchedFrom(command: Command, sentAtMs: number, nowMs: number): Watched {
  return {
    command,
    watchedSinceMs: nowMs,
    openedAtMs: sentAtMs,
    sentAtMs,
    attemptsInHand: 0,
    bound: [],
    updates: [],
    successor: undefined,
    stillEnded: false,
    rivals: new Set(),
    rivalsUnread: command.request.kind === 'cancel',
    behind: false,
    warnings: new Set(),
  };
}

/** How long after the last possible send a list may still not show what became of it. */
const listLagMs = 10_000;

/**
 * A complete, certain read that began at `calledAtMs` has been judged: it says that an order which
 * had ended before its cancel has not changed since.
 */
export function noteStillEnded(
  entry: Watched,
  { certain, calledAtMs }: { readonly certain: boolean; readonly calledAtMs: number },
): boolean {
  const { request, baseline } = entry.command;
  if (request.kind !== 'cancel' || baseline === undefined || !isTerminal(baseline.status)) return false;
  if (entry.stillEnded || entry.behind || !certain || calledAtMs < entry.sentAtMs + listLagMs) return false;
  entry.stillEnded = true;
  return true;
}

/**
 * The platform is asked about the command until its effect was observed. Once the order of a place
 * is there, it is no longer asked about: its order is an open one like any other, which the stream
 * reports and each audit reads.
 */
export function isFollowed(command: Command): boolean {
  return command.state === 'unknown' || (command.state === 'accepted' && !awaitsVenue(command));
}
