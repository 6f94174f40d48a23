import { signal } from '@preact/signals-core';
import type { CommandResult, OrderUpdate } from '../../../types/records.d.ts';
import type { HaltChange } from '../../contract/halt-answers.ts';
import { type EventBlock, EventBlocks } from './orders/event-blocks.ts';
import { pause } from './ports.ts';
import { problemOf, type RestDeps } from './rest.ts';

export type StreamState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  /** Cut; it connects again by itself and resumes after the last id. */
  | { readonly kind: 'waiting'; readonly why: string }
  | { readonly kind: 'ended' };

interface StreamEvents {
  /**
   * The stream is open for the first time, or skipped updates: orders have to be read now. Updates
   * are not lost meanwhile.
   */
  readonly onReadOrders?: () => void;
  readonly onUpdate: (update: OrderUpdate) => void;
  /** The stream has come to this id. */
  readonly onPlace?: (id: string) => void;
  /** A step of a command. */
  readonly onResult?: (result: CommandResult) => void;
  /** A halt was raised or cleared. */
  readonly onHalt?: (halt: HaltChange) => void;
  /** The service says that it skipped updates, or cut a slow reader. */
  readonly onReset?: (reason: string) => void;
  /** The service ended `token`; resolves with whether there is another one now. */
  readonly onTokenEnd: (token: string, why: string) => Promise<boolean>;
}

/** The service sends something at least every 15 s. */
const silenceMs = 40_000;
/**
 * Reading goes on for so long at a time: half a frame, so that a key is answered in the next one
 * also while a second's updates wait.
 */
const readForMs = 8;
const firstWaitMs = 500;
const longestWaitMs = 15_000;

/** How one connection ended, and when the next one begins. `at once`: the service asked for it. */
interface End {
  readonly again: 'at once' | 'later' | 'with the next token';
  readonly why: string;
}

/**
 * The stream of updates, read by fetch: an EventSource cannot send a token. Resumes after the last
 * id, so no update is lost or comes twice across a cut; if the service itself has lost the place,
 * it says `reset`, and the orders are read anew.
 */
export class StreamClient {
  readonly state = signal<StreamState>({ kind: 'connecting' });
  /** When the last byte came, by the monotonic clock. */
  heardMs = 0;
  /** The newest block's. */
  lastId: string | undefined;
  private leave: (() => void) | undefined;
  private readonly deps: RestDeps;
  private readonly events: StreamEvents;

  constructor(deps: RestDeps, events: StreamEvents) {
    this.deps = deps;
    this.events = events;
  }

  /** Follows the stream at `path` until `signal` aborts or the token ends. */
  async follow(path: string, signal: AbortSignal): Promise<void> {
    let failures = 0;
    this.state.value = { kind: 'connecting' };
    while (!signal.aborted) {
      const token = this.deps.rest.token ?? '';
      let end = await this.connect(path, signal, () => {
        failures = 0;
      });
      if (signal.aborted) break;
      if (end.again === 'with the next token') {
        if (!(await this.events.onTokenEnd(token, end.why)) || signal.aborted) break;
        end = { again: 'at once', why: 'the token was renewed' };
      }
      this.state.value = { kind: 'waiting', why: end.why };
      const waitMs =
        end.again === 'at once' && failures === 0 ? 0 : Math.min(longestWaitMs, firstWaitMs * 2 ** failures);
      failures += 1;
      // Half the wait by chance: after a restart the readers do not all come at the same moment.
      await pause(this.deps.ports, waitMs * (0.5 + this.deps.ports.random() / 2), signal);
    }
    // After an abort another call may follow already.
    if (!signal.aborted) this.state.value = { kind: 'ended' };
  }

  /** A timer alone would not notice: it stands still while the machine sleeps. */
  leaveIfSilent(): void {
    if (this.state.peek().kind === 'live' && this.deps.ports.monotonicMs() - this.heardMs > silenceMs) this.leave?.();
  }

  /** The next stream begins anew: another token may see other orders. */
  forget(): void {
    this.lastId = undefined;
    this.heardMs = 0;
  }

  private async connect(path: string, outer: AbortSignal, opened: () => void): Promise<End> {
    const abort = new AbortController();
    const leave = () => abort.abort();
    this.leave = leave;
    outer.addEventListener('abort', leave, { once: true });
    let silence = this.deps.ports.after(silenceMs, leave);
    const heard = () => {
      this.heardMs = this.deps.ports.monotonicMs();
      silence.cancel();
      silence = this.deps.ports.after(silenceMs, leave);
    };
    try {
      const from: Record<string, string> = this.lastId === undefined ? {} : { 'last-event-id': this.lastId };
      const answer = await this.deps.rest.ask(path, { accept: 'text/event-stream', ...from }, abort.signal);
      if (answer.status !== 200) {
        const problem = await problemOf(answer);
        if (problem.status === 401)
          return { again: 'with the next token', why: 'The token of this tab is not accepted any more.' };
        return { again: 'later', why: problem.detail };
      }
      opened();
      return await this.read(answer.body, heard);
    } catch {
      return {
        again: 'later',
        why: abort.signal.aborted ? 'the stream was silent' : 'the connection was cut',
      };
    } finally {
      silence.cancel();
      outer.removeEventListener('abort', leave);
      abort.abort();
    }
  }

  private async read(body: ReadableStream<Uint8Array> | null, heard: () => void): Promise<End> {
    const reader = body?.getReader();
    if (reader === undefined) return { again: 'later', why: 'the stream has no body' };
    const decoder = new TextDecoder();
    const blocks = new EventBlocks();
    let sinceMs = this.deps.ports.monotonicMs();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { again: 'later', why: 'the stream ended' };
      heard();
      for (const block of blocks.feed(decoder.decode(value, { stream: true }))) {
        const end = this.take(block);
        if (end !== undefined) return end;
      }
      if (this.deps.ports.monotonicMs() - sinceMs < readForMs) continue;
      await this.deps.ports.turn();
      sinceMs = this.deps.ports.monotonicMs();
    }
  }

  private take({ id, event, data }: EventBlock): End | undefined {
    const first = this.lastId === undefined;
    if (id !== undefined) this.lastId = id;
    if (this.state.peek().kind !== 'live') this.state.value = { kind: 'live' };
    // The greeting has the position from which nothing is missed: later lists and the stream
    // together are complete.
    if (first) this.events.onReadOrders?.();
    if (id !== undefined) this.events.onPlace?.(id);
    if (data === undefined) return undefined;
    if (event === 'update') this.events.onUpdate(JSON.parse(data) as OrderUpdate);
    else if (event === 'result') this.events.onResult?.(JSON.parse(data) as CommandResult);
    else if (event === 'halt') this.events.onHalt?.(JSON.parse(data) as HaltChange);
    else if (event === 'reset') return this.reset(reasonIn(data));
    else if (event === 'shutdown') return this.shutdown(reasonIn(data));
    return undefined;
  }

  private reset(reason: string): End | undefined {
    this.events.onReset?.(reason);
    // Resumed by its id, so nothing is missing.
    if (reason === 'slow_reader') return { again: 'at once', why: 'this page was too slow' };
    this.events.onReadOrders?.();
    return undefined;
  }

  private shutdown(reason: string): End {
    if (reason === 'token_expired') return { again: 'with the next token', why: 'The token has expired.' };
    if (reason === 'token_revoked') return { again: 'with the next token', why: 'The token was revoked.' };
    return { again: 'at once', why: reason === 'draining' ? 'the service restarts' : 'the service closed the stream' };
  }
}

function reasonIn(data: string): string {
  const { reason } = JSON.parse(data) as { readonly reason?: unknown };
  return typeof reason === 'string' ? reason : 'unknown';
}
