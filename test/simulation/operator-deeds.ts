import type { OperatorWord } from '../../src/commands/commands.ts';
import { type Command, isFinal } from '../../src/domain/command.ts';
import type { Random } from '../../src/runtime/random.ts';
import { isClosed } from '../../src/sandbox/exchange/exchange-order.ts';
import { oneOf } from '../../src/sandbox/market/draw.ts';
import type { Reached } from './callers.ts';
import type { World } from './world.ts';

/** The people on call: they halt and resume, cancel everything of an account, look, and settle what they have found out by telephone. */
export class OperatorDeeds {
  private readonly world: World;
  private readonly random: Random;
  private readonly breach: (what: string) => void;

  constructor(world: World, random: Random, breach: (what: string) => void) {
    this.world = world;
    this.random = random;
    this.breach = breach;
  }

  act({ host, commands }: Reached): void {
    const { random, world } = this;
    const account = oneOf(random, world.platform.accounts).id;
    const scope = random.next() < 0.7 ? ({ kind: 'account', accountId: account } as const) : ({ kind: 'service' } as const);
    const dice = random.next();
    const word = this.word();
    const run = (what: string, deed: () => Promise<unknown>) => {
      world.trace.add('operator', what, `${host.name} ${JSON.stringify(scope)}`);
      host.deliver(() => {
        deed().catch((error: unknown) => this.breach(`${what} rejects: ${String(error)}`));
      });
    };
    if (dice < 0.5) run('resumes', () => commands.resume(scope, word));
    else if (dice < 0.6) run('halts', () => commands.halt(scope, word));
    else if (dice < 0.7) run('cancels all', () => commands.cancelAll(account, { ...word, idempotencyKey: random.uuid() }));
    else if (dice < 0.85) run('reconciles', () => commands.reconcile({ dryRun: random.next() < 0.3 }));
    else {
      const known = this.drawKnown();
      if (known !== undefined) run('settles', () => commands.settle(known.commandId, known.outcome, word));
    }
  }

  /** A command of which the platform's own people could say what became of it. */
  private drawKnown(): { commandId: string; outcome: 'applied' | 'rejected' | 'moot' } | undefined {
    const open = [...this.world.journal.commands.values()].filter(({ state }) => !isFinal(state) && state !== 'open');
    if (open.length === 0) return undefined;
    const command = oneOf(this.random, open);
    const outcome = this.truth(command);
    return outcome && { commandId: command.commandId, outcome };
  }

  private truth({ attempts, request }: Command): 'applied' | 'rejected' | 'moot' | undefined {
    const { ledger } = this.world.platform;
    const writes = attempts.flatMap(({ attemptId }) => ledger.ofAttempt(attemptId));
    if (writes.some(({ fate }) => fate === 'underway')) return undefined;
    const done = writes.find(({ fate }) => fate === 'done');
    if (done?.order === undefined) return 'rejected';
    if (request.kind === 'place') return 'applied';
    if (done.venue === undefined) return undefined;
    if (done.venue === 'granted') return 'applied';
    return isClosed(done.order.state) ? 'moot' : 'rejected';
  }

  private word(): OperatorWord {
    return { by: 'on-call', reason: 'the simulation says so', requestId: this.random.uuid() };
  }
}
