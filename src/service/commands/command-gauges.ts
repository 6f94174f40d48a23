import { awaitsVenue, type Command, isUnresolved } from '../../domain/command.ts';
import type { Timer } from '../../runtime/clock.ts';
import type { CommandParts } from './command-parts.ts';
import { isFollowed, type Watched } from './watched.ts';

type GaugesDeps = Pick<CommandParts, 'book' | 'clock' | 'metrics'>;

/**
 * Counted at intervals, not at each change: a thousand unknown commands would be counted a thousand
 * times. No scrape is more frequent than this.
 */
const everyMs = 5_000;

/**
 * The metrics of commands, over all the process's shards. The gauges are shown while one of them
 * has a term.
 */
export class CommandGauges {
  private timer: Timer | undefined;
  private readonly deps: GaugesDeps;

  constructor(deps: GaugesDeps) {
    this.deps = deps;
  }

  begin(): void {
    this.timer?.cancel();
    this.refresh();
    this.timer = this.deps.clock.after(everyMs, () => this.begin());
  }

  end(): void {
    this.timer?.cancel();
    this.refresh();
  }

  /** A version of a watched command was committed: its first result is counted. */
  changed({ command, openedAtMs }: Watched, before: Command): void {
    const { metrics, clock } = this.deps;
    const { state, request } = command;
    if (before.state !== 'open' || state === 'open') return;
    metrics.commands.inc({ kind: request.kind, result: state });
    metrics.seconds.observe({ kind: request.kind }, (clock.monotonicMs() - openedAtMs) / 1000);
  }

  private refresh(): void {
    const { book, metrics, clock } = this.deps;
    const counts = { place: 0, replace: 0, cancel: 0 };
    let oldestAtMs = Number.POSITIVE_INFINITY;
    let awaiting = 0;
    for (const { command, sentAtMs } of book.all()) {
      if (command.state !== 'open' && isUnresolved(command.state)) counts[command.request.kind] += 1;
      if (awaitsVenue(command)) awaiting += 1;
      if (isFollowed(command) || command.state === 'conflict') oldestAtMs = Math.min(oldestAtMs, sentAtMs);
    }
    for (const [kind, count] of Object.entries(counts)) metrics.unresolved.set({ kind }, count);
    metrics.awaitingVenue.set(awaiting);
    const ageMs = clock.monotonicMs() - oldestAtMs;
    metrics.oldestUnresolved.set(Number.isFinite(ageMs) ? (clock.nowMs() - ageMs) / 1000 : 0);
  }
}
