import { isDeepStrictEqual } from 'node:util';
import type { CommandRequest } from '../../../src/domain/command.ts';
import type { Random } from '../../../src/runtime/random.ts';
import { happens, oneOf } from '../../../src/sandbox/market/instruments.ts';
import type { Answer } from '../../../src/service/commands/answer.ts';
import type { Commands, Journaled, Submission } from '../../../src/service/commands/commands.ts';
import type { Host } from '../host.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import { drawCancel, drawPlace, drawReplace } from './draw-request.ts';
import { OperatorActions } from './operator-actions.ts';

interface Asked {
  readonly submission: Submission;
  /** The command that this key has, once somebody was told. */
  commandId: string | undefined;
}

/** A process as its callers reach it. */
export interface Reached {
  readonly host: Host;
  readonly commands: Commands;
}

const waits = [undefined, undefined, 0, 500, 3_000] as const;

/**
 * Whoever sends commands: places, replaces and cancels, over and over with the same
 * key when no answer comes, to either process; sometimes many at once, sometimes with
 * another body. Holds what is answered against what was answered before and against
 * the journal (docs/guarantees.md 15 and 18).
 */
export class Callers {
  readonly breaches: string[] = [];
  submitted = 0;
  private readonly asked: Asked[] = [];
  /** What a process was asked and has not answered. */
  private readonly open = new Set<{ readonly host: Host; readonly key: string }>();
  private readonly operators: OperatorActions;
  private readonly world: SimulatedWorld;
  private readonly random: Random;

  constructor(world: SimulatedWorld, random: Random) {
    this.world = world;
    this.random = random;
    this.operators = new OperatorActions(world, random, (what) => this.breaches.push(what));
  }

  private get venue() {
    return this.world.platform.venue;
  }

  /** One action of somebody. */
  act(): void {
    const sweeps = this.world.commandPlan?.cancelAllShare ?? 0;
    const sweeping = sweeps > 0 && happens(this.random, sweeps);
    const dice = this.random.next();
    const account = oneOf(this.random, this.world.platform.accounts).id;
    const process = this.drawProcess(account);
    if (process === undefined) return;
    if (sweeping) this.operators.sweep(process, account);
    else if (dice < 0.2) this.again();
    else if (dice < 0.3) this.operators.act(process, account);
    else this.anew();
  }

  /** Mostly the one that holds the account: the others forward what they are asked. */
  private drawProcess(accountId: string): Reached | undefined {
    const running = this.world.services.filter(({ host, exitCode }) => !host.crashed && exitCode === undefined);
    const holder = running.find(({ keeper, held }) => keeper.state === 'held' && held.follows(accountId));
    if (holder !== undefined && happens(this.random, 0.85)) return holder;
    return running.length === 0 ? undefined : oneOf(this.random, running);
  }

  private anew(): void {
    const request = this.drawRequest();
    const process = request && this.drawProcess(request.accountId);
    if (request !== undefined && process !== undefined) this.submitNew(process, request);
  }

  /** Of this account, at this process. */
  placeAt(process: Reached, accountId: string): void {
    this.submitNew(process, drawPlace(this.random, this.venue.streamOf('account'), accountId));
  }

  private submitNew(process: Reached, request: CommandRequest): void {
    const { random } = this;
    const supersedes = request.kind === 'place' ? this.drawAbsent(request.accountId) : undefined;
    const waitMs = oneOf(random, waits);
    const submission: Submission = {
      principal: oneOf(random, ['desk', 'desk', 'algo']),
      idempotencyKey: random.uuid(),
      request,
      requestId: random.uuid(),
      ...(happens(random, 0.3) && { callerRef: `ref-${this.submitted}` }),
      ...(supersedes !== undefined && { supersedes }),
      ...(waitMs !== undefined && { waitMs }),
    };
    const asked: Asked = { submission, commandId: undefined };
    this.asked.push(asked);
    const times = happens(random, 0.1) ? 4 : 1;
    for (let i = 0; i < times; i += 1) this.submit(process, asked, submission);
  }

  /**
   * The same key again, as a caller does that was not answered,
   * or was; now and then with another body.
   */
  private again(): void {
    if (this.asked.length === 0) return;
    const asked = oneOf(this.random, this.asked.slice(-10));
    const process = this.drawProcess(asked.submission.request.accountId);
    if (process === undefined) return;
    if (happens(this.random, 0.2)) this.other(process, asked);
    else this.submit(process, asked, { ...asked.submission, requestId: this.random.uuid() });
  }

  private drawRequest(): CommandRequest | undefined {
    const { random, world } = this;
    const dice = random.next();
    if (dice < 0.3) return drawCancel(random, world.database, this.venue);
    if (dice < 0.55) return drawReplace(random, world.database, this.venue);
    const account = oneOf(random, world.platform.accounts);
    const of = account.predictions && happens(random, 0.5) ? 'prediction' : 'account';
    return drawPlace(random, this.venue.streamOf(of), account.id);
  }

  private drawAbsent(accountId: string): string | undefined {
    const absent = [...this.world.journal.commands.values()].filter(
      ({ presumedAbsent, request }) => presumedAbsent && request.accountId === accountId,
    );
    return absent.length > 0 && happens(this.random, 0.7) ? oneOf(this.random, absent).commandId : undefined;
  }

  private submit(process: Reached, asked: Asked, submission: Submission): void {
    this.submitted += 1;
    this.world.trace.add(
      'caller',
      'submits',
      `${process.host.name} ${submission.idempotencyKey} ${JSON.stringify(submission.request)}`,
    );
    this.ask(process, submission, (result) => {
      this.world.trace.add(
        'caller',
        'is answered',
        `${process.host.name} ${submission.idempotencyKey} ${describe(result)}`,
      );
      if (result.kind === 'journaled') this.journaled(process, asked, result);
      else if (result.code === 'IDEMPOTENCY_KEY_REUSED')
        this.breaches.push(`${submission.idempotencyKey} is called reused with the same body`);
      else if (asked.commandId !== undefined && !isPassing(result.code))
        this.breaches.push(`${submission.idempotencyKey} has ${asked.commandId}, and is declined with ${result.code}`);
    });
  }

  private other(process: Reached, asked: Asked): void {
    const request = { ...asked.submission.request, accountId: 'acct-1' } as CommandRequest;
    const place = drawPlace(this.random, this.venue.streamOf('account'), 'acct-1');
    const body = request.kind === 'place' ? place : request;
    if (isDeepStrictEqual(body, asked.submission.request) || asked.commandId === undefined) return;
    this.ask(process, { ...asked.submission, request: body, requestId: this.random.uuid() }, (result) => {
      if (result.kind === 'journaled')
        this.breaches.push(`${asked.submission.idempotencyKey} is taken with another body: ${describe(result)}`);
      else if (result.code !== 'IDEMPOTENCY_KEY_REUSED' && !isPassing(result.code))
        this.breaches.push(`${asked.submission.idempotencyKey} with another body is declined with ${result.code}`);
    });
  }

  private ask({ host, commands }: Reached, submission: Submission, told: (result: Answer<Journaled>) => void): void {
    host.deliver(() => {
      const asked = { host, key: submission.idempotencyKey };
      this.open.add(asked);
      commands.submit(submission).then(
        (result) => {
          this.open.delete(asked);
          told(result);
        },
        (error: unknown) => {
          this.open.delete(asked);
          this.breaches.push(`submit rejects: ${String(error)}`);
        },
      );
    });
  }

  /** At the end of a run: only a process that is gone or stands still owes no answer. */
  unanswered(): string[] {
    return [...this.open]
      .filter(({ host }) => !host.crashed && !host.frozen)
      .map(({ host, key }) => `${host.name} never answers ${key}`);
  }

  private journaled({ host }: Reached, asked: Asked, result: Extract<Answer<Journaled>, { kind: 'journaled' }>): void {
    const { commandId, version, state } = result.command;
    asked.commandId ??= commandId;
    const key = asked.submission.idempotencyKey;
    if (asked.commandId !== commandId)
      this.breaches.push(`${key} has two commands, ${asked.commandId} and ${commandId}`);
    const stored = this.world.journal.commands.get(commandId);
    if (stored === undefined || stored.version < version || (stored.version === version && stored.state !== state))
      this.breaches.push(
        `${host.name} answers ${commandId} as ${state} (version ${version}), the journal has ${stored?.state} (${stored?.version})`,
      );
  }
}

/** What any command may meet now and not later. */
function isPassing(code: string): boolean {
  return ['NOT_LEADER', 'DRAINING', 'STORE_UNAVAILABLE', 'RATE_LIMITED'].includes(code);
}

function describe(result: Answer<Journaled>): string {
  if (result.kind === 'declined') return `${result.code} ${result.message}`;
  const { commandId, state, version } = result.command;
  return `${commandId} ${state} version ${version}${result.replayed ? ' again' : ''}`;
}
