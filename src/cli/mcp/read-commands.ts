import { z } from 'zod';
import { toolShape } from '../../contract/filter-shapes.ts';
import { commandFilters, queryFrom } from '../../contract/list-filters.ts';
import { commandPage } from '../../contract/rest-answers.ts';
import { present } from '../../domain/present.ts';
import { idKinds } from '../../service/rest/request-fields.ts';
import { commandLine, evidencePage, readCommandHistory, shortCommand } from './command-report.ts';
import { cursor, noneOf, pageAnswer, pageLimit, readOnly, readPage, tool } from './tool.ts';

export const listCommands = tool({
  name: 'list_commands',
  title: 'List commands',
  description:
    'Lists commands (requests to place, replace or cancel an order), the newest first, with the result of each. A result of unknown is not an error: the service is finding out, or, where it is presumed absent, a person has to decide.',
  scopes: ['orders:read', 'ops:read'],
  annotations: readOnly,
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
  annotations: readOnly,
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
