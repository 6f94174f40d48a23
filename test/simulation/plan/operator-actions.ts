import { type Command, isFinal } from '../../../src/domain/command.ts';
import type { Random } from '../../../src/runtime/random.ts';
import { isClosed } from '../../../src/sandbox/exchange/exchange-order.ts';
import { happens, oneOf } from '../../../src/sandbox/market/instruments.ts';
import type { Commands, OperatorWord } from '../../../src/service/commands/commands.ts';
import type { Halt } from '../../../src/store/commands/halts-journal.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import type { Reached } from './callers.ts';

/**
 * The people on call: they halt and resume, cancel everything of an account, look, and resolve what
 * they have found out by telephone.
 */
export class OperatorActions {
  private readonly world: SimulatedWorld;
  private readonly random: Random;
  private readonly breach: (what: string) => void;
  private canceled: { readonly accountId: string; readonly key: string; orders: string | undefined } | undefined;

  constructor(world: SimulatedWorld, random: Random, breach: (what: string) => void) {
    this.world = world;
    this.random = random;
    this.breach = breach;
  }

  act({ host, commands }: Reached, account: string): void {
    const { random } = this;
    const scope =
      random.next() < 0.7 ? ({ kind: 'account', accountId: account } as const) : ({ kind: 'service' } as const);
    const dice = random.next();
    const word = this.word();
    const run = (what: string, action: () => Promise<unknown>) => this.run(host, what, JSON.stringify(scope), action);
    if (dice < 0.5) run('resumes', () => commands.operator.resume(scope, word));
    else if (dice < 0.6) run('halts', () => this.halt(host, commands, scope));
    else if (dice < 0.7) run('cancels all', () => this.cancelAll(commands, account));
    else if (dice < 0.85) run('probes', () => commands.probeNow({ dryRun: random.next() < 0.3 }));
    else {
      const known = this.drawKnown();
      if (known !== undefined) run('resolves', () => commands.operator.resolve(known.commandId, known.result, word));
    }
  }

  /** Halts, and now and then resumes. */
  stop(process: Reached, account: string): void {
    const scope = happens(this.random, 0.7)
      ? ({ kind: 'account', accountId: account } as const)
      : ({ kind: 'service' } as const);
    if (happens(this.random, 0.7)) this.haltAt(process, scope);
    else this.resumeAt(process, scope);
  }

  haltAt({ host, commands }: Reached, scope: Halt['scope']): void {
    this.run(host, 'halts', JSON.stringify(scope), () => this.halt(host, commands, scope));
  }

  resumeAt({ host, commands }: Reached, scope: Halt['scope']): void {
    this.run(host, 'resumes', JSON.stringify(scope), () => commands.operator.resume(scope, this.word()));
  }

  sweep({ host, commands }: Reached, account: string): void {
    this.run(host, 'cancels all', account, () => this.cancelAll(commands, account));
  }

  private run(host: Reached['host'], what: string, about: string, action: () => Promise<unknown>): void {
    this.world.trace.add('operator', what, `${host.name} ${about}`);
    host.deliver(() => {
      action().catch((error: unknown) => this.breach(`${what} rejects: ${String(error)}`));
    });
  }

  private async halt({ name }: Reached['host'], commands: Commands, scope: Halt['scope']): Promise<void> {
    const answered = this.world.haltOracle.asked(scope, name);
    const result = await commands.operator.halt(scope, this.word());
    if (result.kind === 'done') answered(result);
  }

  /** Now and then the one before once more, as somebody does who was not answered. */
  private async cancelAll(commands: Commands, accountId: string): Promise<void> {
    const again = this.canceled !== undefined && happens(this.random, 0.4);
    if (this.canceled === undefined || !again)
      this.canceled = { accountId, key: this.random.uuid(), orders: undefined };
    const asked = this.canceled;
    const scope = { kind: 'account', accountId: asked.accountId } as const;
    const before = this.unseenPlaces(asked.accountId);
    const result = await commands.cancelAll(scope, { ...this.word(), idempotencyKey: asked.key });
    if (result.kind === 'declined') {
      if (result.code === 'IDEMPOTENCY_KEY_REUSED')
        this.breach(`cancel-all ${asked.key} is called reused with the same body`);
      return;
    }
    const after = this.unseenPlaces(asked.accountId);
    const named = new Set(result.places.map(({ commandId }) => commandId));
    for (const commandId of before)
      if (!result.replayed && after.has(commandId) && !named.has(commandId))
        this.breach(`cancel-all ${asked.key} does not name ${commandId}, which is unresolved`);
    if (!result.replayed && result.places.length > 0 && [...before].some((id) => after.has(id)) && !result.open)
      this.breach(`cancel-all ${asked.key} says that nothing is open`);
    const orders = result.orders.map(({ stream, orderId }) => `${stream}:${orderId}`).join();
    asked.orders ??= orders;
    if (asked.orders !== orders)
      this.breach(`cancel-all ${asked.key} was about ${asked.orders}, and is now about ${orders}`);
  }

  /** Places whose order nobody has seen (docs/guarantees.md 32). */
  private unseenPlaces(accountId: string): Set<string> {
    const all = [...this.world.journal.commands.values()];
    const unseen = all.filter(
      ({ state, orderId, request }) =>
        request.kind === 'place' && request.accountId === accountId && orderId === undefined && !isFinal(state),
    );
    return new Set(unseen.map(({ commandId }) => commandId));
  }

  /** A command of which the platform's own people could say what became of it. */
  private drawKnown(): { commandId: string; result: 'applied' | 'rejected' | 'moot' } | undefined {
    const open = [...this.world.journal.commands.values()].filter(({ state }) => !isFinal(state) && state !== 'open');
    if (open.length === 0) return undefined;
    const command = oneOf(this.random, open);
    const result = this.truth(command);
    return result && { commandId: command.commandId, result };
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
