import { awaitsVenue, type Command } from '../domain/command.ts';
import type { BoundOrder, Settling, SettlingUpdate } from '../domain/settling.ts';

/** A command that is not over, as it is followed in memory. Everything here but `command` can be had again from the journal. */
export interface Watched {
  /** As it was committed last, as far as we know. */
  command: Command;
  /** Monotonic time of its submission; of a command that was taken over, the same as `sentAtMs`. */
  readonly openedAtMs: number;
  /** Monotonic time of the last possible send: its age counts from here. A step of the wall clock makes nothing older. */
  sentAtMs: number;
  /**
   * Monotonic time since which this process follows it. Of a command that was taken over `sentAtMs` is by the wall clocks of two processes, either of which may
   * be wrong by an hour: what takes ten minutes to be presumed takes ten minutes of one clock.
   */
  readonly watchedSinceMs: number;
  /** Above 0: an attempt of it is in hand, which is not over with its state. */
  hands: number;
  /** Place: orders seen to carry an id of its attempts. */
  bound: readonly BoundOrder[];
  /** Replace, cancel: its order's updates above the baseline; place: those of each bound order. Oldest first, without a hole. */
  updates: readonly SettlingUpdate[];
  /** Replace: what the look for an order that took its order's place has shown. */
  successor: Settling['successor'];
  /** Cancel: other cancels of the order that may have been out beside it, so that "seen pending" may have been one of those. Ids of commands. */
  readonly rivals: Set<string>;
  /** Cancel: the journal has not been asked for rivals. Those that were over when this process began to follow it are not in memory. */
  rivalsUnread: boolean;
  /** The journal has to be asked for updates and bindings: some may have gone by. */
  behind: boolean;
  /** What was told to people already, so that each is told once a term: `warned`, `alarmed`, `source_epoch_changed` … */
  readonly told: Set<string>;
}

/** `sentAtMs`: see `Watched`. `nowMs`: monotonic. */
export function watchedFrom(command: Command, sentAtMs: number, nowMs: number): Watched {
  return {
    command,
    watchedSinceMs: nowMs,
    openedAtMs: sentAtMs,
    sentAtMs,
    hands: 0,
    bound: [],
    updates: [],
    successor: undefined,
    rivals: new Set(),
    rivalsUnread: command.request.kind === 'cancel',
    behind: false,
    told: new Set(),
  };
}

/**
 * The platform is asked about it until its effect was observed. A place whose order is there is asked about no more: its order is an open one like any other, which the
 * stream tells and each audit looks at.
 */
export function isFollowed(command: Command): boolean {
  return command.state === 'unknown' || (command.state === 'accepted' && !awaitsVenue(command));
}
