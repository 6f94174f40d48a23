import { isUnresolved } from '../../domain/command.ts';
import { commandHistory } from '../../schema/rest-answers.ts';
import { commandAnswer, commandTimeline } from '../command-answer.ts';
import { findHints } from '../find-hints.ts';
import { preferredWaitSeconds } from '../prefer-wait.ts';
import { readStore } from '../read-store.ts';
import type { Route, RouteParts } from '../route.ts';
import { sendMissing } from '../send-answer.ts';
import { sendCommandState } from '../send-command.ts';

export const showCommand: Route = {
  method: 'GET',
  path: '/v1/commands/{commandId}',
  operationId: 'showCommand',
  summary: 'Read one command with everything that is known about it',
  describe:
    'Attempts and evidence, also merged in one timeline. With `Prefer: wait` the answer is held until its outcome is final.',
  tag: 'commands',
  scopes: ['orders:read', 'ops:read'],
  params: { commandId: 'commandId' },
  headers: ['Prefer'],
  answers: {
    200: { describe: 'The command', schema: commandHistory, headers: ['Location', 'Preference-Applied'] },
    202: {
      describe: 'The command, whose outcome is not known yet',
      schema: commandHistory,
      headers: ['Location', 'Preference-Applied', 'Retry-After'],
    },
  },
  problems: { 404: ['COMMAND_NOT_FOUND'] },
  handle: async (parts, { request, reply, principal, params }) => {
    const { commandId = '' } = params;
    const { reads } = parts;
    let found = await readStore(reads.findCommand(principal.accounts, commandId));
    if (found === undefined) return sendMissing(reply, 'COMMAND_NOT_FOUND');
    const waitSeconds = preferredWaitSeconds(request.headers['prefer']);
    if (waitSeconds !== undefined) {
      reply.header('preference-applied', `wait=${waitSeconds}`);
      if (isUnresolved(found.command.state) || found.command.state === 'accepted') {
        await news(parts, commandId, waitSeconds * 1000);
        found = (await readStore(reads.findCommand(principal.accounts, commandId))) ?? found;
      }
    }
    const { command, evidence } = found;
    const hints = await readStore(findHints(reads, principal.accounts, command));
    const body = {
      ...commandAnswer(command, evidence),
      ...(hints.length === 0 ? {} : { hints }),
      timeline: commandTimeline(command, evidence),
    };
    return sendCommandState(reply, command, body);
  },
};

/** Resolves when the command is final, after `waitMs`, or when the server drains. */
async function news({ commands, draining }: RouteParts, commandId: string, waitMs: number): Promise<void> {
  if (draining.aborted) return;
  let stop = () => {};
  const drained = new Promise<void>((resolve) => {
    stop = resolve;
    draining.addEventListener('abort', stop, { once: true });
  });
  await Promise.race([commands.wait(commandId, waitMs), drained]);
  draining.removeEventListener('abort', stop);
}
