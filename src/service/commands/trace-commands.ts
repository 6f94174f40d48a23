import { AsyncLocalStorage } from 'node:async_hooks';
import type { SpanContext } from '@opentelemetry/api';
import { isFinal } from '../../domain/command.ts';
import type { Tracing } from '../../observability/tracing.ts';
import type { CommandJournal } from '../../store/commands/command-journal.ts';
import type { MadeStep } from './command-steps.ts';
import type { OrderEntry } from './order-entry.ts';
import type { SubmitCommand } from './submit-command.ts';

interface TracedPorts {
  readonly journal: CommandJournal;
  readonly entry: OrderEntry;
  readonly onStep?: (made?: MadeStep) => void;
}

/**
 * All command spans (docs/tracing.md). They are made around the command side's ports and around
 * `SubmitCommand`: the classes between them know nothing about traces. A submission's effects find
 * its span in the asynchronous context, as long as it runs.
 */
export class CommandTraces {
  private readonly span = new AsyncLocalStorage<SpanContext>();
  private readonly tracing: Tracing;

  constructor(tracing: Tracing) {
    this.tracing = tracing;
  }

  around<Ports extends TracedPorts>(ports: Ports): Ports {
    const { journal, entry, onStep } = ports;
    return {
      ...ports,
      journal: instead(journal, { open: this.opening(journal), noteMiss: this.missing(journal) }),
      entry: { send: this.sending(entry) },
      onStep: (made?: MadeStep) => {
        if (made !== undefined) this.stepped(made);
        onStep?.(made);
      },
    };
  }

  /** Each command in its own span, within its caller's. */
  aroundSubmit(submitter: SubmitCommand): SubmitCommand {
    const submit: SubmitCommand['submit'] = async (submission, under, pacing) => {
      const { kind, stream, accountId } = submission.request;
      const span = this.tracing.begin(`command ${kind}`, {
        parent: submission.span,
        attributes: {
          'tidemark.command.kind': kind,
          'tidemark.stream': stream,
          'tidemark.account.id': accountId,
          'tidemark.request.id': submission.requestId,
        },
      });
      const result = await this.span.run(span.context, () => submitter.submit(submission, under, pacing));
      if (result.kind === 'declined') span.set({ 'tidemark.declined': result.code });
      else {
        const { commandId, state } = result.command;
        span.set({
          'tidemark.command.id': commandId,
          'tidemark.command.state': state,
          'tidemark.replayed': result.replayed,
        });
      }
      span.end();
      return result;
    };
    return instead(submitter, { submit });
  }

  private opening(journal: CommandJournal): CommandJournal['open'] {
    return async (command, fence) => {
      const { commandId, attemptId } = command;
      const parent = this.span.getStore();
      const attributes = { 'tidemark.command.id': commandId, 'tidemark.attempt.id': attemptId };
      const span = this.tracing.begin('journal command', { parent, attributes });
      if (parent !== undefined) this.tracing.rememberCommand(commandId, parent);
      let failed: string | undefined = 'no answer';
      try {
        const result = await journal.open(command, fence);
        failed = result.kind === 'opened' ? undefined : result.kind;
        return result;
      } finally {
        span.end({ failed });
      }
    };
  }

  /** The platform gets no header for its span: the specification names none. */
  private sending(entry: OrderEntry): OrderEntry['send'] {
    return async (request, attemptId, options) => {
      const span = this.tracing.begin(`platform ${request.kind}`, {
        kind: 'client',
        parent: this.span.getStore(),
        attributes: { 'tidemark.attempt.id': attemptId },
      });
      const result = await entry.send(request, attemptId, options);
      span.set({
        'tidemark.attempt.answer': result.kind,
        'tidemark.attempt.reason': result.reason?.code,
        'http.response.status_code': result.reason?.status,
      });
      span.end({ failed: result.kind === 'unknown' ? 'its outcome is not known' : undefined });
      return result;
    };
  }

  /**
   * Its own span also for a verdict minutes after the answer: no command span is open until then.
   */
  private stepped({ before, after, decision, startedMs: sinceMs }: MadeStep): void {
    const { commandId, state, orderId } = after;
    const { evidence, step } = decision;
    const parent = this.tracing.ofCommand(commandId);
    if (parent === undefined) return;
    const attributes = {
      'tidemark.command.id': commandId,
      'tidemark.command.was': before.state,
      'tidemark.command.state': state,
      'tidemark.command.final': isFinal(state),
      'tidemark.command.reason': step.reason?.code,
      'tidemark.order.id': orderId,
      'tidemark.evidence': evidence,
      'tidemark.evidence.facts': step.evidence?.map(({ kind, code }) => `${kind} ${code}`),
    };
    this.tracing.begin(`command ${state}`, { parent, follows: evidence !== 'answer', sinceMs, attributes }).end();
  }

  private missing(journal: CommandJournal): CommandJournal['noteMiss'] {
    return async (miss, fence) => {
      const { commandId, evidence } = miss;
      const parent = this.tracing.ofCommand(commandId);
      const attributes = {
        'tidemark.command.id': commandId,
        'tidemark.evidence.facts': [`${evidence.kind} ${evidence.code}`],
      };
      const span = parent && this.tracing.begin('command evidence', { parent, follows: true, attributes });
      const result = await journal.noteMiss(miss, fence);
      if (result.kind !== 'fenced') span?.end();
      return result;
    };
  }
}

/** The same object, but for these methods. */
function instead<T extends object>(whole: T, methods: Partial<T>): T {
  return new Proxy(whole, {
    get: (target, name) => {
      if (name in methods) return methods[name as keyof T];
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
