import type { Command, CommandState } from '../../../src/domain/command.ts';
import type { BoundsChange, LimitScope } from '../../../src/domain/limits.ts';
import type { Measure } from '../../../src/domain/measure-command.ts';
import type { Answer, Done } from '../../../src/service/commands/answer.ts';
import type {
  Approvals,
  CancelAll,
  CancelAllScope,
  Commands,
  HaltsNow,
  Journaled,
  LimitsNow,
  NextProbe,
  OpenCommands,
  OperatorActs,
  OperatorWord,
  Preview,
  PreviewAsked,
  Probed,
  Requested,
  Submission,
  TimersSet,
} from '../../../src/service/commands/commands.ts';
import type { Approval, Halt } from '../../../src/store/commands/halts-journal.ts';

export const commandId = '6d5c0f0e-3b1f-4c43-9d7b-2f1f3e0f6a11';

export const approvalId = '0c2f5f9e-8f43-4c1c-9d0a-5b1f3e0f6a22';

/** A resume of account ACC-1 that waits for a second principal. */
export const sampleApproval: Approval = {
  approvalId,
  action: { kind: 'resume', scope: { kind: 'account', accountId: 'ACC-1' } },
  accountId: 'ACC-1',
  by: 'ann',
  reason: 'checked',
  requestId: 'request-1',
  atMs: 0,
  expiresAtMs: 3_600_000,
};

const sampleMeasure: Measure = {
  ...{ symbols: ['AAPL'], underlyings: ['AAPL'], instrument: 'equity', quantity: '10' },
  ...{ notional: '1875', exposure: '1875', deviationPercent: null, valuedByQuote: false },
};

/**
 * The command side for tests of REST: it notes what it is asked, and answers what the test says. It
 * judges nothing; tests of the rules use the real commands (`CommandRig`).
 */
export class ScriptedCommands implements Commands, OperatorActs {
  readonly operator: OperatorActs = this;
  readonly submissions: Submission[] = [];
  readonly words: { readonly what: string; readonly on: unknown; readonly word: OperatorWord }[] = [];
  readonly probed: { readonly accountId?: string; readonly dryRun: boolean }[] = [];
  readonly waits: { readonly commandId: string; readonly waitMs: number }[] = [];
  inForce: readonly Halt[] = [];
  probe: NextProbe | undefined;
  submitAnswer: (submission: Submission) => Answer<Journaled> | Promise<Answer<Journaled>> = (submission) => ({
    kind: 'journaled',
    command: commandOf(submission),
    replayed: false,
  });
  waitAnswer: () => Promise<Command | undefined> = async () => undefined;
  resolveAnswer: Answer<Done<{ command: Command }> | Requested> = {
    kind: 'done',
    command: sampleCommand({ state: 'applied' }),
  };
  haltAnswer: Answer<HaltsNow | Requested> = { kind: 'done', halts: [] };
  limitsAnswer: Answer<LimitsNow | Requested> = { kind: 'done', limits: [] };
  waiting: readonly Approval[] = [sampleApproval];
  approveAnswer: Answer<Done<{ approval: Approval }>> = { kind: 'done', approval: sampleApproval };
  cancelAllAnswer: (scope: CancelAllScope) => Answer<CancelAll> = () => ({
    kind: 'done',
    replayed: false,
    inForce: false,
    open: false,
    orders: [],
    places: [],
    unread: [],
    declined: [],
  });
  cancelAfterAnswer: (asked: Parameters<Commands['cancelAfter']>[0]) => Answer<TimersSet> = ({
    accountIds,
    afterMs,
  }) => ({
    kind: 'done',
    accountIds,
    declined: [],
    ...(afterMs > 0 && { firesAtMs: 1_700_000_000_000 + afterMs }),
  });
  probeAnswer: Answer<Probed> = { kind: 'done', report: { unresolved: 0, probes: 0, resolved: [], plan: [] } };

  previewAnswer: Answer<Preview> = { kind: 'done', measure: sampleMeasure, quotes: [], limits: [], refusals: [] };
  readonly previews: PreviewAsked[] = [];

  async preview(asked: PreviewAsked): Promise<Answer<Preview>> {
    this.previews.push(asked);
    return this.previewAnswer;
  }

  async submit(submission: Submission): Promise<Answer<Journaled>> {
    this.submissions.push(submission);
    return this.submitAnswer(submission);
  }

  async wait(id: string, waitMs: number): Promise<Command | undefined> {
    this.waits.push({ commandId: id, waitMs });
    return this.waitAnswer();
  }

  nextProbe() {
    return this.probe;
  }

  async resolve(
    on: string,
    result: string,
    word: OperatorWord,
  ): Promise<Answer<Done<{ command: Command }> | Requested>> {
    this.words.push({ what: `resolve ${result}`, on, word });
    return this.resolveAnswer;
  }

  async halt(on: Halt['scope'], word: OperatorWord): Promise<Answer<HaltsNow | Requested>> {
    this.words.push({ what: 'halt', on, word });
    return this.haltAnswer;
  }

  async resume(on: Halt['scope'], word: OperatorWord): Promise<Answer<HaltsNow | Requested>> {
    this.words.push({ what: 'resume', on, word });
    return this.haltAnswer;
  }

  async limits(): Promise<Answer<LimitsNow>> {
    return this.limitsAnswer.kind === 'requested' ? { kind: 'done', limits: [] } : this.limitsAnswer;
  }

  async changeLimits(on: LimitScope, change: BoundsChange, word: OperatorWord): Promise<Answer<LimitsNow | Requested>> {
    this.words.push({ what: `limits ${JSON.stringify(change)}`, on, word });
    return this.limitsAnswer;
  }

  readonly approvals = {
    list: async (): Promise<Answer<Approvals>> => ({ kind: 'done', approvals: this.waiting }),
    find: async (id: string): Promise<Answer<Approvals>> => ({
      kind: 'done',
      approvals: this.waiting.filter((each) => each.approvalId === id),
    }),
  };

  async approve(on: string, word: OperatorWord): Promise<Answer<Done<{ approval: Approval }>>> {
    this.words.push({ what: 'approve', on, word });
    return this.approveAnswer;
  }

  readonly halts = { list: (): readonly Halt[] => this.inForce };

  async cancelAfter(asked: Parameters<Commands['cancelAfter']>[0]): Promise<Answer<TimersSet>> {
    this.words.push({
      what: 'cancel-after',
      on: asked,
      word: { by: asked.principal, reason: '', requestId: asked.requestId },
    });
    return this.cancelAfterAnswer(asked);
  }

  async cancelAll(
    on: CancelAllScope,
    word: OperatorWord & { readonly idempotencyKey: string },
  ): Promise<Answer<CancelAll>> {
    this.words.push({ what: 'cancel-all', on, word });
    return this.cancelAllAnswer(on);
  }

  async probeNow(options: { readonly accountId?: string; readonly dryRun: boolean }): Promise<Answer<Probed>> {
    this.probed.push(options);
    return this.probeAnswer;
  }

  openAnswer: Answer<OpenCommands> = { kind: 'done', commands: [] };

  async openCommands(): Promise<Answer<OpenCommands>> {
    return this.openAnswer;
  }

  readonly placeBudget = { allowance: () => ({ limit: 10, remaining: 7, resetMs: 1500 }) };
}

/** The command of a submission, in whatever state. */
export function commandOf(
  { request, principal, idempotencyKey, callerRef, supersedes }: Submission,
  state: CommandState = 'accepted',
): Command {
  return sampleCommand({
    request,
    principal,
    idempotencyKey,
    state,
    ...(callerRef === undefined ? {} : { callerRef }),
    ...(supersedes === undefined ? {} : { supersedes }),
    ...(request.kind === 'place' ? {} : { orderId: request.orderId }),
  });
}

/** A place of an account order, accepted, unless told otherwise. */
export function sampleCommand(over: Partial<Command> = {}): Command {
  return {
    commandId,
    shard: 1,
    principal: 'loopback',
    idempotencyKey: 'key-1',
    requestHash: 'hash',
    request: {
      kind: 'place',
      stream: 'account',
      accountId: 'ACC-1',
      terms: { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '10', timeInForce: 'DAY', price: '187.5' },
    },
    state: 'accepted',
    version: 3,
    presumedAbsent: false,
    misses: 0,
    deadlineAtMs: 1_700_000_010_000,
    createdAtMs: 1_700_000_000_000,
    updatedAtMs: 1_700_000_000_200,
    attempts: [
      {
        attemptId: 'tm-0e6f6f58-0f2b-4d53-8f0a-0a2b9ce1d3a7',
        number: 1,
        state: 'accepted',
        epoch: 9_007_199_254_740_993n,
        preparedAtMs: 1_700_000_000_000,
        sendingAtMs: 1_700_000_000_050,
        answeredAtMs: 1_700_000_000_200,
      },
    ],
    ...over,
  };
}
