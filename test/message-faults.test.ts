import { expect, it } from 'vitest';
import { messageFaults } from './message-faults.ts';

it('finds nothing wrong with a short subject and a reason', () => {
  expect(messageFaults('Fence a stale holder\n\nIt wrote after its lease.\n', true)).toEqual([]);
});

it('asks for no reason where the sources stay as they are', () => {
  expect(messageFaults('Correct a word of the walkthrough\n', false)).toEqual([]);
});

it('leaves out what git itself writes into the file of a message', () => {
  expect(messageFaults('Fence a stale holder\n\n# On branch main\n', true)).toEqual([
    'changes src/ and has no body that says why: Fence a stale holder',
  ]);
});

it.each([
  ['', 'has no subject'],
  [`${'x'.repeat(73)}\n\nwhy`, `has a subject of 73 columns, at most 72: ${'x'.repeat(73)}`],
  ['Fence a stale holder\nIt wrote after its lease.', 'has no empty line after its subject: Fence a stale holder'],
])('names the fault of %j', (message, fault) => {
  expect(messageFaults(message, false)).toEqual([fault]);
});
