import { z } from 'zod';
import { type Command, commandStates } from '../../domain/command.ts';
import { plainText } from '../../schema/body-fields.ts';
import { commandPage } from '../../schema/rest-answers.ts';
import { commandAnswer } from '../command-answer.ts';
import { accountField, cursorField, limitField, optionalFlag, pageDefault } from '../query-fields.ts';
import { readStore } from '../read-store.ts';
import { route } from '../route.ts';

export const listCommands = route({
  method: 'GET',
  path: '/v1/commands',
  operationId: 'listCommands',
  summary: 'List commands',
  describe: 'Newest first, of every principal, for the accounts of the token.',
  tag: 'commands',
  scopes: ['orders:read', 'ops:read'],
  query: z.strictObject({
    accountId: accountField.exactOptional(),
    kind: z.enum(['place', 'replace', 'cancel']).exactOptional(),
    state: z.enum(commandStates).exactOptional(),
    unresolved: optionalFlag.describe('Only commands whose outcome nobody knows, or a person has to say'),
    idempotencyKey: z
      .string()
      .regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 visible ASCII characters')
      .exactOptional(),
    callerRef: plainText(1, 64).exactOptional().describe('The reference that the caller gave it, to the letter'),
    limit: limitField,
    cursor: cursorField,
  }),
  answers: { 200: { describe: 'A page of commands', schema: commandPage } },
  problems: { 400: ['INVALID_CURSOR'], 404: ['ACCOUNT_NOT_FOUND'] },
  handle: ({ reads, pages }, call) => {
    const { limit = pageDefault, cursor, ...filter } = call.query;
    const read = (after: readonly string[] | undefined) =>
      readStore(reads.listCommands(call.principal.accounts, filter, after, limit));
    return pages.send(call, { list: 'commands', filter, cursor }, read, commandText);
  },
});

function commandText(command: Command): string {
  return JSON.stringify(commandAnswer(command));
}
