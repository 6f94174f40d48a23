import { signal } from '@preact/signals-core';
import type { CommandResult, OrderUpdate } from '../../../../types/records.d.ts';
import type { CommandHistory } from '../../../contract/rest-answers.ts';
import { type Followed, withFailure } from '../followed.ts';
import { pause } from '../ports.ts';
import type { RestDeps } from '../rest.ts';

type FollowedState = Followed<{ readonly command: CommandHistory }>;

/** Reads in close succession are one. */
const restMs = 250;
/** A look at the platform has been recorded by then. */
const afterProbeMs = 1_500;
const tryAgainMs = 2_000;
/** A step follows its update within moments. */
const agreesSoonMs = 1_000;

/**
 * One command with everything known about it: read again at each step, at each update of its order,
 * and once the next look at the platform is over. Nothing is asked while nothing happens.
 */
export class CommandFollower {
  readonly state = signal<FollowedState>({ kind: 'loading' });
  private wake: (() => void) | undefined;
  private isNewsWaiting = false;
  private readonly deps: RestDeps;
  private readonly commandId: string;

  constructor(deps: RestDeps, commandId: string) {
    this.deps = deps;
    this.commandId = commandId;
  }

  /** Follows the command until `signal` aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.isNewsWaiting = false;
      const answer = await this.deps.rest.get<CommandHistory>(`/v1/commands/${this.commandId}`, {}, signal);
      if (signal.aborted) return;
      this.state.value =
        answer.kind === 'ok' ? { kind: 'shown', command: answer.body } : withFailure(this.state.peek(), answer);
      await pause(this.deps.ports, restMs, signal);
      if (!this.isNewsWaiting) await this.news(signal);
    }
  }

  /** For any command. */
  takeResult({ commandId }: CommandResult): void {
    if (commandId === this.commandId) this.readAgain();
  }

  /** For any order. */
  takeUpdate({ orderId, order }: OrderUpdate): void {
    const state = this.state.peek();
    const own = state.kind === 'shown' ? state.command.orderId : undefined;
    if (orderId === own || order.commandId === this.commandId) this.readAgain();
  }

  /** Something happened that the answer must have. */
  readAgain(): void {
    this.isNewsWaiting = true;
    this.wake?.();
  }

  private async news(signal: AbortSignal): Promise<void> {
    const wait = new AbortController();
    this.wake = () => wait.abort();
    signal.addEventListener('abort', this.wake, { once: true });
    const ms = this.waitMs();
    if (ms === undefined)
      await new Promise<void>((resolve) => wait.signal.addEventListener('abort', () => resolve(), { once: true }));
    else await pause(this.deps.ports, ms, wait.signal);
    signal.removeEventListener('abort', this.wake);
    this.wake = undefined;
  }

  /** Undefined: nothing is expected beyond the stream. */
  private waitMs(): number | undefined {
    const state = this.state.peek();
    if (state.kind === 'missing') return undefined;
    if (state.kind !== 'shown' || state.stale !== undefined) return tryAgainMs;
    const { nextProbe, recomputed } = state.command;
    if (!recomputed.agrees && recomputed.complete && state.command.resolvedAt === undefined) return agreesSoonMs;
    if (nextProbe === undefined) return undefined;
    return Math.max(afterProbeMs, Date.parse(nextProbe.at) - this.deps.ports.nowMs() + afterProbeMs);
  }
}
