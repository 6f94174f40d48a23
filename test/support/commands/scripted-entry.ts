import type { Clock } from '../../../src/runtime/clock.ts';
import { isRefusal, type Write } from '../../../src/sandbox/entry/write.ts';
import type { HttpResult } from '../../../src/venue/http.ts';
import type { WriteLines, WriteRequest } from '../../../src/venue/write-result.ts';
import type { Host } from '../../simulation/host.ts';
import { presentAttempt } from '../../simulation/sending-attempt.ts';
import { understandWrite } from '../../simulation/understand-write.ts';
import type { MemoryPlatform } from '../../simulation/world/memory-platform.ts';
import { plainAnswer } from '../../simulation/write-answers.ts';
import type { LedgerWrite } from '../../simulation/write-ledger.ts';

/** What becomes of one write: whether and when it is done, and what its sender is told. */
export interface WriteScript {
  readonly applied: 'yes' | 'no' | { readonly lateMs: number };
  /** `plain`: what order entry has to say of it; a function: that in other words. */
  readonly answer: HttpResult | 'plain' | ((plain: HttpResult) => HttpResult);
  /** Before the answer. */
  readonly answerAfterMs?: number;
}

const wayMs = 1;

export const timeout: HttpResult = {
  kind: 'failed',
  code: 'deadline',
  message: 'no whole answer within 10000 ms',
  sent: 'maybe',
};
const reset: HttpResult = { kind: 'failed', code: 'broken', message: 'ECONNRESET: socket hang up', sent: 'maybe' };

export function answered(status: number, body: object | string): HttpResult {
  return { kind: 'answered', status, headers: {}, text: typeof body === 'string' ? body : JSON.stringify(body) };
}

const documented = (status: number, code: string, type: string) =>
  answered(status, { success: false, error: { code, message: 'as documented', type } });
export const outcomeUnknown = documented(504, 'REQUEST_OUTCOME_UNKNOWN', 'timeout');
export const atCapacity = documented(429, 'ORDER_ENTRY_AT_CAPACITY', 'rate_limit');

/**
 * Order entry of the platform in memory that does with the next writes what the test says, one
 * script a write; beyond the scripts it does its duty.
 */
export class ScriptedEntry {
  readonly scripts: WriteScript[] = [];
  private readonly platform: MemoryPlatform;
  private readonly clock: Clock;

  constructor(deps: { platform: MemoryPlatform; clock: Clock }) {
    this.platform = deps.platform;
    this.clock = deps.clock;
  }

  lines(host: Host): WriteLines {
    const plain = this.platform.entry.lines(host);
    return {
      open: async (url, signal) => {
        const script = this.scripts.shift();
        if (script === undefined) return plain.open(url, signal);
        await this.clock.sleep(wayMs);
        const attemptId = presentAttempt();
        return {
          open: true,
          line: { close: () => undefined, send: (request) => host.answer(this.play(script, attemptId, request, host)) },
        };
      },
    };
  }

  private async play(script: WriteScript, attemptId: string, request: WriteRequest, host: Host): Promise<HttpResult> {
    const { ledger, entered } = this.platform;
    const bytes = `${request.method} ${request.url} ${request.body ?? ''}`;
    const write = ledger.left(attemptId, host.name, bytes);
    await this.clock.sleep(wayMs);
    write.arrivedMs = this.clock.monotonicMs();
    const asked = understandWrite(entered.entry, request);
    if ('refused' in asked) throw new Error(`order entry cannot read ${bytes}: ${asked.message}`);
    write.kind = asked.kind;
    write.stream = asked.stream;
    const plain = this.apply(script, write, asked);
    write.told = script.answer === 'plain' ? 'certain' : script.answer === atCapacity ? 'not_sent' : 'nothing';
    await this.clock.sleep(script.answerAfterMs ?? wayMs);
    if (typeof script.answer === 'function') return script.answer(plain);
    return script.answer === 'plain' ? plain : script.answer;
  }

  private apply({ applied }: WriteScript, write: LedgerWrite, asked: Write): HttpResult {
    if (applied === 'no') {
      write.fate = 'dropped';
      return reset;
    }
    if (applied === 'yes') return this.attempt(write, asked);
    this.clock.after(applied.lateMs, () => {
      write.late = true;
      this.attempt(write, asked);
    });
    return reset;
  }

  private attempt(write: LedgerWrite, asked: Write): HttpResult {
    const result = asked.attempt();
    if (isRefusal(result)) write.fate = 'refused';
    else this.platform.ledger.done(write, result);
    return plainAnswer(asked, result);
  }
}
