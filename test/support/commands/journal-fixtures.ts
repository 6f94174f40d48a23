import { randomUUID } from 'node:crypto';
import type { Command, Evidence } from '../../../src/domain/command.ts';
import type { OrderView } from '../../../src/domain/order.ts';
import type { NewCancelAll } from '../../../src/store/commands/cancel-all-journal.ts';
import type {
  CommandJournal,
  CommandStep,
  NewCommand,
  NewEvidence,
} from '../../../src/store/commands/command-journal.ts';
import type { Halt } from '../../../src/store/commands/halts-journal.ts';
import type { Fence } from '../../../src/store/commands/term.ts';

export interface JournalUnderTest extends AsyncDisposable {
  readonly journal: CommandJournal;
  /** Everything known about one command, oldest first. */
  evidenceOf(commandId: string): Promise<readonly Evidence[]>;
  /** Events of the outbox, oldest first: which command stepped to which version and state. */
  events(): Promise<{ readonly commandId: string; readonly version: number; readonly state: string }[]>;
  /** An order as ingest has it now, bound to the place that made it where one is named. */
  /** `matches`: the order is on the command's account and side. */
  show(order: OrderView, place?: NewCommand, matches?: boolean): Promise<void>;
}

export const atMs = Date.parse('2026-11-21T14:30:00.123Z');
export const fence: Fence = { shard: 0, epoch: 1n };

export function attemptId(): string {
  return `tm-${randomUUID()}`;
}

export function newPlace(over: Partial<NewCommand> = {}): NewCommand {
  return {
    commandId: randomUUID(),
    principal: 'desk',
    idempotencyKey: randomUUID(),
    requestHash: 'hash-1',
    request: {
      kind: 'place',
      stream: 'account',
      accountId: 'acct-1',
      terms: { symbol: 'AAPL', side: 'buy', type: 'limit', qty: '10', timeInForce: 'day', price: '187.5' },
    },
    deadlineAtMs: atMs + 10_000,
    atMs,
    attemptId: attemptId(),
    ...over,
  };
}

export function newReplace(orderId: string, over: Partial<NewCommand> = {}): NewCommand {
  return newPlace({
    request: { kind: 'replace', stream: 'prediction', accountId: 'acct-1', orderId, terms: { price: '0.43' } },
    orderId,
    baseline: {
      revision: 3,
      sourceEpoch: 1,
      sourceVersion: 9_007_199_254_740_993n,
      status: 'new',
      working: { quantity: '100', price: '0.42' },
      cumQty: '0',
      pendingAction: 'none',
    },
    ...over,
  });
}

export function newCancel(orderId: string, over: Partial<NewCommand> = {}): NewCommand {
  const request = { kind: 'cancel', stream: 'prediction', accountId: 'acct-1', orderId } as const;
  return newReplace(orderId, { request, ...over });
}

export function newCancelAll(over: Partial<NewCancelAll> = {}): NewCancelAll {
  return {
    cancelAllId: randomUUID(),
    principal: 'desk',
    idempotencyKey: randomUUID(),
    requestHash: 'hash-1',
    selection: { accountId: 'acct-1' },
    reason: 'stop',
    onLanding: 'cancel',
    orders: [
      { accountId: 'acct-1', stream: 'account', orderId: 'o-1' },
      { accountId: 'acct-1', stream: 'prediction', orderId: 'p-1' },
    ],
    places: [{ accountId: 'acct-1', stream: 'account', commandId: randomUUID() }],
    unread: [{ accountId: 'acct-1', stream: 'prediction', code: 'NOT_LIVE', message: 'its stream is not live' }],
    declined: [{ accountId: 'acct-2', code: 'ACCOUNT_NOT_TRADED', message: 'not listed' }],
    atMs,
    ...over,
  };
}

export function answer(code = 'timeout', over: Partial<NewEvidence> = {}): NewEvidence {
  return { kind: 'answer', code, detail: { status: 504 }, atMs: atMs + 20, ...over };
}

/** The step that an answer makes of a command whose last attempt is being sent. */
export function answered(
  command: Command,
  to: 'unknown' | 'accepted' | 'not_sent' | 'refused',
  over: Partial<CommandStep> = {},
): CommandStep {
  const attempt = command.attempts.at(-1);
  if (attempt === undefined) throw new Error('it has no attempt');
  return {
    commandId: command.commandId,
    version: command.version,
    to,
    atMs: atMs + 20,
    attempt: { attemptId: attempt.attemptId, from: 'sending', to },
    evidence: [answer()],
    ...over,
  };
}

/** Opened, marked as sending. */
export async function sending(
  journal: CommandJournal,
  asked: NewCommand = newPlace(),
  under: Fence = fence,
): Promise<Command> {
  const result = await journal.open(asked, under);
  if (result.kind !== 'opened') throw new Error(`it was ${result.kind}`);
  if ((await journal.markSending(asked.attemptId ?? '', atMs + 5, under)) !== true)
    throw new Error('it was not marked');
  return result.command;
}

export async function unknown(
  journal: CommandJournal,
  asked: NewCommand = newPlace(),
  over: Partial<CommandStep> = {},
): Promise<Command> {
  const result = await journal.step(answered(await sending(journal, asked), 'unknown', over), fence);
  if (result.kind !== 'stepped') throw new Error(`it was ${result.kind}`);
  return result.command;
}

export function halt(over: Partial<Halt> = {}): Halt {
  const base = { haltId: randomUUID(), cause: 'operator', reason: 'lunch', by: 'ann', sinceMs: atMs };
  return { ...base, scope: { kind: 'account', accountId: 'acct-1' }, ...over };
}

export const service: Halt['scope'] = { kind: 'service' };

export function accountScope(accountId: string): Halt['scope'] {
  return { kind: 'account', accountId };
}
