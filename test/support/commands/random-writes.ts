import type { CommandState } from '../../../src/domain/command.ts';
import type { Random } from '../../../src/runtime/random.ts';
import type { JournalWrite } from '../../../src/store/commands/group-commit.ts';
import { storableJson } from '../../../src/store/session/write-once.ts';
import { pick } from '../servers/faulted-database.ts';
import { answer, atMs, fence, newPlace } from './journal-fixtures.ts';

interface Drawn {
  readonly commandId: string;
  readonly attemptId: string;
}

const states: readonly CommandState[] = [
  ...(['open', 'accepted', 'unknown', 'applied', 'rejected', 'not_sent', 'conflict'] as const),
];
const shards = [0, 1] as const;
const accounts = ['acct-1', 'acct-2'] as const;

/**
 * Draws writes of the command side: most of them for commands drawn before, some of them wrong. A
 * write depends on the ones before it, so that an order other than theirs, or a look at older rows,
 * gives another answer.
 */
export class RandomWrites {
  private readonly commands: Drawn[] = [];
  private readonly versions = new Map<string, number>();
  private drawn = 0;
  private readonly random: Random;

  constructor(random: Random) {
    this.random = random;
  }

  group(): JournalWrite[] {
    return Array.from({ length: 1 + Math.floor(this.random.next() * 20) }, () => this.write());
  }

  private write(): JournalWrite {
    this.drawn += 1;
    const dice = this.random.next();
    const of = this.commands.length === 0 ? undefined : pick(this.random, this.commands.slice(-8));
    if (of === undefined || dice < 0.25) return this.opening();
    const under = this.fence();
    if (dice < 0.4) return { name: 'mark_sending', fence: under, body: storableJson({ ...of, atMs: this.atMs() }) };
    if (dice < 0.7) return { name: 'step_command', fence: under, body: storableJson(this.step(of)) };
    if (dice < 0.78)
      return {
        name: 'note_misses',
        fence: under,
        body: storableJson([of, ...this.others(of)].map((each) => this.miss(each))),
      };
    if (dice < 0.9)
      return {
        name: 'add_command_evidence',
        body: storableJson({ ...this.named(of), evidence: [answer(`fact-${this.drawn}`)] }),
      };
    const line = { atMs, principal: 'ann', action: 'resolve', commandId: of.commandId };
    return { name: 'add_audit_lines', body: storableJson({ lines: [line], again: this.random.next() < 0.5 }) };
  }

  /** As one read misses them: each command once. */
  private others(of: Drawn): Drawn[] {
    return this.commands.slice(-3).filter((each) => each !== of && this.random.next() < 0.5);
  }

  private miss(of: Drawn) {
    return { ...this.named(of), version: this.version(of), evidence: answer('not_shown') };
  }

  private opening(): JournalWrite {
    const [commandId, attemptId] = [this.random.uuid(), `tm-${this.random.uuid()}`];
    this.commands.push({ commandId, attemptId });
    const terms = {
      symbol: 'AAPL',
      side: 'buy',
      type: 'limit',
      qty: '10',
      timeInForce: 'day',
      price: '187.5',
    } as const;
    const asked = newPlace({
      ...{ commandId, attemptId, atMs: this.atMs(), idempotencyKey: `key-${Math.floor(this.random.next() * 40)}` },
      request: { kind: 'place', stream: 'account', accountId: pick(this.random, accounts), terms },
      ...(this.random.next() < 0.3 && { callerRef: `ref-${Math.floor(this.random.next() * 3)}`, callerRefOnce: true }),
    });
    const measure = { symbols: ['AAPL'], underlyings: ['AAPL'], exposure: '100' };
    return { name: 'open_command', fence: this.fence(), body: storableJson({ ...asked, measure }) };
  }

  private step(of: Drawn) {
    const to = pick(this.random, states);
    const version = this.version(of);
    this.versions.set(of.commandId, version + 1);
    const attempt = {
      attemptId: of.attemptId,
      from: 'sending',
      to: pick(this.random, ['accepted', 'unknown'] as const),
    };
    return {
      ...this.named(of),
      ...{ version, to, atMs: this.atMs(), evidence: [answer(`step-${this.drawn}`)] },
      ...(this.random.next() < 0.5 && { attempt }),
      ...(this.random.next() < 0.1 && { nextAttemptId: `tm-${this.random.uuid()}` }),
    };
  }

  /** Seldom a command that is not there, or a name that is none. */
  private named({ commandId }: Drawn): { readonly commandId: string } {
    const dice = this.random.next();
    return { commandId: dice < 0.04 ? this.random.uuid() : dice < 0.06 ? 'none' : commandId };
  }

  private version({ commandId }: Drawn): number {
    return (this.versions.get(commandId) ?? 1) + (this.random.next() < 0.1 ? 1 : 0);
  }

  private fence() {
    return { shard: pick(this.random, shards), epoch: this.random.next() < 0.1 ? 9n : fence.epoch };
  }

  private atMs(): number {
    return atMs + this.drawn;
  }
}
