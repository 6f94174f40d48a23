import type { Attributes } from '@opentelemetry/api';
import type { CommandRequest } from '../../domain/command.ts';
import type { Tracing } from '../../observability/tracing.ts';
import type { SubmitCommand } from './submit-command.ts';

type Submitter = Pick<SubmitCommand, 'submit'>;

/** Each command in a span of its own, which continues that of its caller. */
export function traceSubmit(submitter: Submitter, tracing: Tracing): Submitter {
  return {
    submit: async (submission, under, pacing) => {
      const span = tracing.begin(`command ${submission.request.kind}`, {
        parent: submission.span,
        attributes: { ...aboutRequest(submission.request), 'tidemark.request.id': submission.requestId },
      });
      const result = await submitter.submit({ ...submission, span: span.context }, under, pacing);
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
    },
  };
}

/** What every span of a command says; the log names the same. */
function aboutRequest({ kind, stream, accountId }: CommandRequest): Attributes {
  return { 'tidemark.command.kind': kind, 'tidemark.stream': stream, 'tidemark.account.id': accountId };
}
