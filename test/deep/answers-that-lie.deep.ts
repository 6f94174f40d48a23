import { expect, it } from 'vitest';
import type { NewCommand, OpenResult } from '../../src/store/commands/command-journal.ts';
import { opened } from '../../src/store/commands/journal-rows.ts';
import type { Fence } from '../../src/store/commands/term.ts';
import { type Plant, runUnderFaults } from '../support/commands/commands-under-faults.ts';

/**
 * Each says that something is in the database of which nobody knows whether it
 * is. `caught`: what the oracle says of it.
 */
const lies: Readonly<Record<string, { readonly plant: Plant; readonly caught: RegExp }>> = {
  'a place is answered with 202 though its commit failed': {
    plant: (journal) => {
      const isLost = eachThird();
      return {
        ...journal,
        open: async (command, fence) => (isLost() ? pretended(prepared(command), fence) : journal.open(command, fence)),
      };
    },
    caught: /was journaled|names one command/,
  },
  'a write leaves though the commit of its opening failed': {
    plant: (journal) => {
      const isLost = eachThird();
      return {
        ...journal,
        open: async (command, fence) => (isLost() ? pretended(command, fence) : journal.open(command, fence)),
      };
    },
    caught: /was written, and is not in the journal|was journaled|names one command/,
  },
  'a write leaves though the commit of its mark failed': {
    plant: (journal) => {
      const isLost = eachThird();
      return {
        ...journal,
        open: (command, fence) => journal.open(prepared(command), fence),
        markSending: async (attemptId, atMs, fence) => isLost() || journal.markSending(attemptId, atMs, fence),
      };
    },
    caught: /was taken|was sent|was not sent|under way|was written/,
  },
};

/** Which commits fail: a drawn fault meets the one that counts too seldom. */
function eachThird(): () => boolean {
  let commits = 0;
  return () => ++commits % 3 === 0;
}

/** The same command, not opened as being sent. */
function prepared({ sendingAtMs: _none, ...command }: NewCommand): NewCommand {
  return command;
}

/** As if the journal had opened it. */
function pretended(command: NewCommand, fence: Fence): OpenResult {
  return { kind: 'opened', command: opened(command, fence, command.sendingAtMs) };
}

/** The first shows it as a rule. */
const mostSeeds = 10;

// The oracle of answers-under-database-faults.deep.ts must be seen to fail.
it.each(Object.entries(lies))('%s: it is caught', async (_name, { plant, caught }) => {
  const messages: string[] = [];
  for (let seed = 1; seed <= mostSeeds && !messages.some((message) => caught.test(message)); seed += 1)
    await runUnderFaults(seed, 6, plant).catch((error: Error) => messages.push(error.message));
  expect(messages.filter((message) => caught.test(message)).length, `it said: ${messages.join('\n')}`).toBe(1);
});
