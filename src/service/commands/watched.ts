import { awaitsVenue, type Command } from '../../domain/command.ts';
import { isTerminal } from '../../domain/order.ts';
import type { BoundOrder, Resolving, ResolvingUpdate } from '../../domain/resolving.ts';
import type { Term } from '../../store/commands/term.ts';
import type { CompleteLook } from '../sources/account-access.ts';

/**
 * A command that is not over, as it is followed in memory. Everything here except `command` can be
 * read again from the journal.
 */
export interface Watched {
  /** The version committed last, as far as we know. */
  command: Command;
  /** The hold on its shard under which it is followed: with it, the entry ends. */
  readonly term: Term;
  /** Monotonic: when it was submitted; after a takeover, the same as `sentAtMs`. */
  readonly openedAtMs: number;
  /**
   * Monotonic: the last possible send, and its age counts from here. A wall clock step makes
   * nothing older.
   */
  sentAtMs: number;
  /**
   * Monotonic: since when this process follows it. After a takeover, `sentAtMs` comes from two
   * processes' wall clocks, and either may be wrong by an hour: if a presumption takes ten minutes,
   * they must be one clock's ten minutes.
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
  updates: readonly ResolvingUpdate[];
  /** Replace: the look's result for an order in its order's place. */
  successor: Resolving['successor'];
  /** A cancel for an order ended before: a later complete read has shown nothing new. */
  stillEnded: boolean;
  /**
   * Its rivals, by command id, so "seen pending" may have been one of them. Cancel: other cancels
   * for the order, perhaps in flight at the same time. Replace: those that supersede it, or
   * that it supersedes.
   */
  readonly rivals: Set<string>;
  /**
   * Not a place: the journal has not been asked for rivals. Those that were over when this process
   * began to follow it are not in memory.
   */
  rivalsUnread: boolean;
  /** The journal has to be asked for updates and bindings: some may have been missed. */
  behind: boolean;
  /**
   * The warnings given to people already, so each is given once a term: `warned`, `alarmed`,
   * `source_epoch_changed` …
   */
  readonly warnings: Set<string>;
}

/** `sentAtMs`: see `Watched`. `nowMs`: monotonic. */
export function watchedFrom(command: Command, term: Term, sentAtMs: number, nowMs: number): Watched {
  return {
    command,
    term,
    watchedSinceMs: nowMs,
    openedAtMs: sentAtMs,
    sentAtMs,
    attemptsInHand: 0,
    bound: [],
    updates: [],
    successor: undefined,
    stillEnded: false,
    rivals: new Set(),
    rivalsUnread: command.request.kind !== 'place',
    behind: false,
    warnings: new Set(),
  };
}

/** How long after the last possible send a list may still not show what became of it. */
export const listLagMs = 10_000;

/**
 * A complete read begun at `calledAtMs`, which is certain of this order, has been judged: an order
 * ended before its cancel has not changed since.
 */
export function noteStillEnded(
  entry: Watched,
  look: Pick<CompleteLook, 'certain' | 'uncertain' | 'working'> & { readonly calledAtMs: number },
): boolean {
  const { request, baseline, orderId = '' } = entry.command;
  if (request.kind !== 'cancel' || baseline === undefined || !isTerminal(baseline.status)) return false;
  const { certain, uncertain, working = [], calledAtMs } = look;
  // Another order may be uncertain for good.
  const isCertain = certain || uncertain?.includes(orderId) === false;
  if (entry.stillEnded || entry.behind || !isCertain || calledAtMs < entry.sentAtMs + listLagMs) return false;
  // Our state may be the wrong one: a read that disputes an end makes no update at first.
  if (working.includes(orderId)) return false;
  entry.stillEnded = true;
  return true;
}

/**
 * The platform is asked about the command until its effect was observed. Once a place's order is
 * there, it is no longer asked about: its order is an open one like any other, which the stream
 * reports and each audit reads.
 */
export function isFollowed(command: Command): boolean {
  return command.state === 'unknown' || (command.state === 'accepted' && !awaitsVenue(command));
}
