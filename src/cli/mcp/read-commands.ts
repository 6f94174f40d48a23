import { z } from 'zod';
import { toolShape } from '../../contract/filter-shapes.ts';
import { commandFilters, queryFrom } from '../../contract/list-filters.ts';
import {
  type CommandAnswer,
  type CommandHistory,
  commandAnswer,
  commandHistory,
  commandPage,
} from '../../contract/rest-answers.ts';
import { present } from '../../domain/present.ts';
import { termsText } from '../../domain/terms-text.ts';
import { idKinds } from '../../service/rest/request-fields.ts';
import { orderOf } from '../command/sent-command.ts';
import type { RestClient } from '../rest/rest-client.ts';
import { segment } from '../rest/rest-flags.ts';
import { cursor, excerpt, noneOf, pageAnswer, pageLimit, readPage, readRest, tool } from './tool.ts';

export const listCommands = tool({
  name: 'list_commands',
  title: 'List commands',
  description:
    'Lists commands (requests to place, replace or cancel an order), the newest first, with the result of each. A result of unknown is not an error: the service is finding out, or, where it is presumed absent, a person has to decide.',
  scopes: ['orders:read', 'ops:read'],
  input: z.strictObject({
    ...toolShape(commandFilters),
    limit: pageLimit,
    cursor,
  }),
  run: async (session, { limit, cursor: from, ...given }) => {
    const list = { about: 'commands', path: '/v1/commands', shape: commandPage };
    const asked = { ...queryFrom(commandFilters, 'tool', given), limit: String(limit), cursor: from };
    const page = await readPage(session.client(), list, asked);
    return pageAnswer('commands', page, { none: noneOf('command', page), line: commandLine, short: shortCommand });
  },
});

export const showCommand = tool({
  name: 'show_command',
  title: 'Show one command with its evidence',
  description:
    'One command: what was asked for, each attempt to send it, the evidence for its result, and the result that follows from the evidence alone. The newest 20 facts; earlierEvidence is the evidenceBefore of the next call.',
  scopes: ['orders:read', 'ops:read'],
  input: z.strictObject({
    commandId: z.string().regex(idKinds.commandId, 'must be the id of a command'),
    evidenceBefore: z.int().min(1).optional().describe('Only facts with a lower number'),
  }),
  run: async (session, { commandId, evidenceBefore }) => {
    const history = await readCommandHistory(session.client(), commandId);
    const { recomputed, hints, nextProbe } = history;
    const page = evidencePage(history, evidenceBefore);
    const facts = page.evidence.map(
      ({ number, at, kind, code, detail }) => `${number}  ${at}  ${kind} ${code}  ${JSON.stringify(detail)}`,
    );
    return {
      lines: [
        commandLine(history),
        ...facts,
        `By the evidence alone: ${recomputed.state}, since ${recomputed.rule}`,
        nextProbe && `The platform is asked about it next at ${nextProbe.at}.`,
      ],
      data: present({ command: shortCommand(history), ...page, recomputed, hints, nextProbe }),
    };
  },
});

/** The fields a list needs. */
export const shortCommandShape = commandAnswer
  .pick({
    commandId: true,
    kind: true,
    stream: true,
    accountId: true,
    terms: true,
    orderId: true,
    orderStatus: true,
    replaces: true,
    result: true,
    state: true,
    unresolved: true,
    presumedAbsent: true,
    reason: true,
    callerRef: true,
    principal: true,
    idempotencyKey: true,
    createdAt: true,
    updatedAt: true,
    resolvedAt: true,
  })
  .extend({
    presumedAbsent: z.boolean().describe('Many complete reads did not show it. This is a label, not a result'),
  });

export function shortCommand(command: CommandAnswer): z.infer<typeof shortCommandShape> {
  const { reason: why, ...fields } = shortCommandShape.parse(command);
  return present({ ...fields, reason: why && { ...why, message: excerpt(why.message) } });
}

/** "applied  place buy 10 AAPL limit at 187.5  SIM-1001  order o-1 (new)  command c-1". */
export function commandLine(command: CommandAnswer): string {
  const { result, kind, accountId, replaces, commandId, reason: why } = command;
  const terms = kind === 'cancel' ? '' : ` ${termsText(kind, command.terms)}`;
  const named = orderOf(command);
  const order = named === undefined ? '' : `  order ${named}`;
  const before = replaces === undefined ? '' : `, which replaces ${replaces}`;
  const because = why === undefined ? '' : `  ${excerpt(why.message)} (${why.code})`;
  return `${result}  ${kind}${terms}  ${accountId}${order}${before}  command ${commandId}${because}`;
}

/**
 * A page of the evidence: each complete read without the order is a fact, so a command may have
 * hundreds.
 */
export const evidenceShape = {
  evidence: z
    .array(commandHistory.shape.evidence.element.omit({ attemptId: true }))
    .describe('The newest facts, oldest first'),
  earlierEvidence: z
    .int()
    .optional()
    .describe('evidenceBefore of the next call; left out where there is no earlier fact'),
  attempts: z.array(
    commandHistory.shape.attempts.element.pick({ attemptId: true, number: true, state: true, reason: true }),
  ),
};

const mostEvidence = 20;
const mostAttempts = 20;

export function evidencePage(
  { evidence = [], attempts }: CommandAnswer,
  before = Number.POSITIVE_INFINITY,
): z.infer<z.ZodObject<typeof evidenceShape>> {
  const earlier = evidence.filter(({ number }) => number < before);
  const shown = earlier.slice(-mostEvidence);
  const [first] = shown;
  return present({
    evidence: shown.map(({ attemptId: _attempt, detail, ...fact }) => ({ ...fact, detail: shortDetail(detail) })),
    earlierEvidence: first !== undefined && earlier.length > shown.length ? first.number : undefined,
    attempts: attempts.slice(-mostAttempts).map((each) => present(evidenceShape.attempts.element.parse(each))),
  });
}

/** A detail may have what the platform answered. */
function shortDetail(detail: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(detail).map(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      const short = excerpt(text);
      return [name, short === text ? value : short];
    }),
  );
}

/** A command with everything known about it. */
export function readCommandHistory(client: RestClient, commandId: string): Promise<CommandHistory> {
  return readRest(client, `/v1/commands/${segment(commandId)}`, 'a command', commandHistory);
}
