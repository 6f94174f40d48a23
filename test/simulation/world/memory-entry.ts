import type { Clock } from '../../../src/runtime/clock.ts';
import type { Random } from '../../../src/runtime/random.ts';
import type { EntryDeps } from '../../../src/sandbox/entry/write.ts';
import { isRefusal, type Refusal, type Write } from '../../../src/sandbox/entry/write.ts';
import type { ExchangeOrder } from '../../../src/sandbox/exchange/exchange-order.ts';
import { happens } from '../../../src/sandbox/market/instruments.ts';
import type { HttpResult } from '../../../src/venue/http.ts';
import type { OpenLine, WriteLine, WriteLines, WriteRequest } from '../../../src/venue/write-result.ts';
import type { Host } from '../host.ts';
import type { CrashPoints } from '../plan/crash-points.ts';
import { noWriteFaults, type WriteFaults } from '../plan/write-faults.ts';
import type { BareViews } from '../planted/bare-views.ts';
import { presentAttempt } from '../sending-attempt.ts';
import type { Trace } from '../trace.ts';
import type { SimulatedVenue } from '../venues/simulated-venue.ts';
import { broken, hangs, nothingSent, plainAnswer } from '../write-answers.ts';
import type { LedgerWrite, WriteLedger } from '../write-ledger.ts';
import { tooMany } from './memory-http.ts';
import type { MemoryTokens } from './memory-tokens.ts';
import type { RequestLimit } from './request-limit.ts';

interface MemoryEntryDeps {
  readonly entry: EntryDeps;
  readonly tokens: MemoryTokens;
  readonly ledger: WriteLedger;
  readonly points: CrashPoints;
  readonly clock: Clock;
  readonly random: Random;
  readonly trace: Trace;
  readonly bare: BareViews;
  readonly limit: RequestLimit;
  readonly venue: Pick<SimulatedVenue, 'entry' | 'reads'>;
}

const connectMs = 2_000;
const totalMs = 10_000;

/**
 * A venue's order entry in memory, without a socket: it may do what it was
 * asked and answer, do it and not answer, do it late or never, refuse, and say what
 * nobody can rely on. Everything is in `ledger`.
 */
export class MemoryEntry {
  faults: WriteFaults = noWriteFaults;
  down = false;
  private readonly deps: MemoryEntryDeps;

  constructor(deps: MemoryEntryDeps) {
    this.deps = deps;
  }

  /** As one process reaches it. */
  lines(host: Host): WriteLines {
    return {
      open: (_url, signal) => {
        this.deps.points.reach('line_opening', host);
        return host.answer(this.connect(host, presentAttempt(), signal));
      },
    };
  }

  private async connect(host: Host, attemptId: string, signal: AbortSignal | undefined): Promise<OpenLine> {
    const { clock, random, points } = this.deps;
    const slow = happens(random, this.faults.slow);
    await clock.sleep(slow ? random.next() * connectMs : 0.2 + random.next() * 2);
    if (signal?.aborted === true) return { open: false, message: 'given up by the caller' };
    if (this.down || happens(random, this.faults.connect)) return { open: false, message: 'refused' };
    points.reach('line_open', host);
    return { open: true, line: this.line(host, attemptId) };
  }

  private line(host: Host, attemptId: string): WriteLine {
    const { points, random, ledger, trace, clock, limit, venue } = this.deps;
    let used = false;
    return {
      close: () => undefined,
      send: (request, signal) => {
        if (used) throw new Error('a write line carries one request');
        used = true;
        points.reach('write_before', host);
        if (host.crashed) return new Promise<never>(() => undefined);
        if (signal?.aborted === true || happens(random, this.faults.unsent))
          return host.answer(
            Promise.resolve({ kind: 'failed', code: 'connect', message: 'had ended', sent: 'no' } as const),
          );
        const write = ledger.left(attemptId, host.name, `${request.method} ${request.url} ${request.body ?? ''}`);
        trace.add(host.name, 'writes', `${attemptId} ${write.bytes}`);
        points.reach('write_left', host);
        const ask = () => host.answer(within(clock, this.carry(write, request, host), signal));
        return limit.written(host, venue.reads.keyOf?.(request.headers), ask);
      },
    };
  }

  private async carry(write: LedgerWrite, request: WriteRequest, host: Host): Promise<HttpResult> {
    const { clock, random, points, trace } = this.deps;
    const slow = happens(random, this.faults.slow);
    const wayMs = () => (slow ? random.next() * 4_000 : 0.2 + random.next() * 2);
    await clock.sleep(wayMs());
    if (happens(random, this.faults.lost)) {
      write.fate = 'dropped';
      await clock.sleep(happens(random, 0.5) ? totalMs : 1);
      return broken('reset');
    }
    write.arrivedMs = clock.monotonicMs();
    const result = this.timed(this.counted(write, request));
    trace.add(
      'platform',
      'is asked',
      `${write.attemptId} ${write.fate} ${result === hangs ? hangs : describe(result)}`,
    );
    points.reach('write_arrived', host);
    await clock.sleep(wayMs());
    points.reach('write_answered', host);
    if (result === hangs) await clock.sleep(totalMs * 2);
    return result === hangs ? broken('nothing came') : result;
  }

  private counted(write: LedgerWrite, request: WriteRequest): HttpResult | typeof hangs {
    const { limit, venue } = this.deps;
    let taken: HttpResult | typeof hangs | undefined;
    const answer = limit.counted(venue.reads.keyOf?.(request.headers), tooMany, () => {
      taken = this.arrive(write, request);
      return taken === hangs ? broken('nothing came') : taken;
    });
    if (taken === undefined) return this.turnedAway(write, answer);
    return taken === hangs ? hangs : answer;
  }

  private timed(result: HttpResult | typeof hangs): HttpResult | typeof hangs {
    if (result === hangs || result.kind !== 'answered') return result;
    return { ...result, text: this.deps.bare.timed(result.text) };
  }

  private arrive(write: LedgerWrite, request: WriteRequest): HttpResult | typeof hangs {
    const { random, tokens, entry, venue } = this.deps;
    const asked = venue.entry.isGood(request, tokens) ? venue.entry.understand(entry, request) : undefined;
    if (asked === undefined || 'refused' in asked) {
      write.fate = 'refused';
      write.told = 'certain';
      return asked === undefined ? venue.entry.unauthorized : venue.entry.refusal(asked);
    }
    write.kind = asked.kind;
    write.stream = asked.stream;
    if (this.down) return this.turnedAway(write, { kind: 'answered', status: 502, headers: {}, text: '' });
    if (asked.stream === 'prediction' && happens(random, this.faults.notSent)) {
      write.told = 'not_sent';
      return this.turnedAway(write, nothingSent(random));
    }
    if (happens(random, this.faults.spoiled)) return this.spoiled(write, asked);
    const result = this.attempt(write, asked);
    write.told = isRefusal(result) && (result.status === 429 || result.status === 503) ? 'not_sent' : 'certain';
    return plainAnswer(asked, result, venue.entry.refusal);
  }

  private turnedAway(write: LedgerWrite, answer: HttpResult): HttpResult {
    write.fate = 'dropped';
    return answer;
  }

  private spoiled(write: LedgerWrite, asked: Write): HttpResult | typeof hangs {
    const { random, clock, venue } = this.deps;
    const { done, late, lateMs } = this.faults;
    const dice = random.next();
    let body: string | undefined;
    if (dice < done) {
      const result = this.attempt(write, asked);
      if (!isRefusal(result)) body = asked.answer.body(result);
    } else if (dice < done + (1 - done) * late) {
      clock.after(random.next() * lateMs, () => {
        write.late = true;
        this.attempt(write, asked);
      });
    } else write.fate = 'dropped';
    return venue.entry.spoiled(random, asked, { body, other: this.anotherOrder(asked, write) });
  }

  private attempt(write: LedgerWrite, asked: Write): ExchangeOrder | Refusal {
    const { ledger, trace } = this.deps;
    const result = asked.attempt();
    if (isRefusal(result)) write.fate = 'refused';
    else ledger.done(write, result);
    trace.add('platform', write.late ? 'does late' : 'does', `${write.attemptId} ${asked.kind} ${write.fate}`);
    return result;
  }

  /** An answer about somebody else's order. */
  private anotherOrder(asked: Write, { order, bytes }: LedgerWrite): string | undefined {
    const orders = this.deps.entry.exchange.ordersOf(asked.account, asked.stream);
    const other = orders.findLast((it) => it !== order && !bytes.includes(it.terms.orderId));
    return other === undefined ? undefined : asked.answer.body(other);
  }
}

function describe(result: HttpResult): string {
  return result.kind === 'answered' ? `${result.status} ${result.text}` : result.message;
}

/** What the sender sees of it: the answer, its own deadline, or its own giving up. */
function within(clock: Clock, work: Promise<HttpResult>, signal: AbortSignal | undefined): Promise<HttpResult> {
  return new Promise((resolve) => {
    const give = (result: HttpResult) => {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
      resolve(result);
    };
    const onAbort = () => give({ kind: 'failed', code: 'broken', message: 'given up by the caller', sent: 'maybe' });
    const timer = clock.after(totalMs, () =>
      give({ kind: 'failed', code: 'deadline', message: 'no whole answer', sent: 'maybe' }),
    );
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    void work.then(give);
  });
}
