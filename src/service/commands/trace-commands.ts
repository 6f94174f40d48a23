import { AsyncLocalStorage } from 'node:async_hooks';
import type { SpanContext } from '@opentelemetry/api';
import { isFinal } from '../../domain/command.ts';
import type { TracedSpan, Tracing } from '../../observability/tracing.ts';
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
      journal: instead(journal, { open: this.opening(journal), noteMisses: this.missing(journal) }),
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
      const work = () => this.span.run(span.context, () => submitter.submit(submission, under, pacing));
      return within(span, work, (result) => {
        if (result.kind === 'declined') span.set({ 'tidemark.declined': result.code });
        else {
          const { commandId, state } = result.command;
          span.set({
            'tidemark.command.id': commandId,
            'tidemark.command.state': state,
            'tidemark.replayed': result.replayed,
          });
        }
        return undefined;
      });
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
      return within(
        span,
        () => journal.open(command, fence),
        ({ kind }) => (kind === 'opened' ? undefined : kind),
      );
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
      return within(
        span,
        () => entry.send(request, attemptId, options),
        ({ kind, reason }) => {
          span.set({
            'tidemark.attempt.answer': kind,
            'tidemark.attempt.reason': reason?.code,
            'http.response.status_code': reason?.status,
          });
          return kind === 'unknown' ? 'its result is not known' : undefined;
        },
      );
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

  /** One write, and a span in the trace of each command that it is about. */
  private missing(journal: CommandJournal): CommandJournal['noteMisses'] {
    return (misses, fence) => {
      const spans = misses.map(({ commandId, evidence }) => {
        const parent = this.tracing.ofCommand(commandId);
        const attributes = {
          'tidemark.command.id': commandId,
          'tidemark.evidence.facts': [`${evidence.kind} ${evidence.code}`],
        };
        return parent && this.tracing.begin('command evidence', { parent, follows: true, attributes });
      });
      const end: TracedSpan['end'] = (how) => {
        for (const span of spans) span?.end(how);
      };
      return within(
        { end },
        () => journal.noteMisses(misses, fence),
        ({ kind }) => (kind === 'fenced' ? kind : undefined),
      );
    };
  }
}

/** Ends the span with the work, in whatever way that ends. `failed`: why a result is a failure. */
async function within<T>(
  span: Pick<TracedSpan, 'end'> | undefined,
  work: () => Promise<T>,
  failed: (result: T) => string | undefined,
): Promise<T> {
  let why: string | undefined = 'no answer';
  try {
    const result = await work();
    why = failed(result);
    return result;
  } finally {
    span?.end({ failed: why });
  }
}

/** The same object, but for these methods. The others are bound once: they are called often. */
function instead<T extends object>(whole: T, methods: Partial<T>): T {
  const bound = new WeakMap<object, unknown>();
  return new Proxy(whole, {
    get: (target, name) => {
      if (name in methods) return methods[name as keyof T];
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (!bound.has(value)) bound.set(value, value.bind(target));
      return bound.get(value);
    },
  });
}
