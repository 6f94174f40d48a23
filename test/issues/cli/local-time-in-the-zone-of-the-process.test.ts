// What a user saw: `log export --since` took a local time or 30 February for another instant.

import { expect, it } from 'vitest';
import { instantFlag } from '../../../src/cli/io/flag-text.ts';
import { runProgram } from '../../../src/cli/program.ts';
import { cliIo } from '../../support/rest/cli-io.ts';

const lines = [
  ['audit-log', 'export', '--since'],
  ['audit-log', 'export', '--until'],
  ['replay', '--to', 'risk.rebuild', '--since'],
] as const;
// In Berlin the first does not exist; in New York the second is there twice.
const texts = [
  '2026-03-29T02:30',
  '2026-11-01T01:30:00',
  '2026-02-30',
  '2026-02-30T00:00:00Z',
  '2026-03-29 02:30',
  '1d',
];

it.each(lines.flatMap((line) => texts.map((text) => [[...line, text]])))('%s is refused', async (line) => {
  const io = cliIo();
  await runProgram(io, line);
  expect(io.code()).not.toBe(0);
  expect(io.err()).toMatch(/It must be an instant with its zone/);
});

it.each([
  ['2026-03-29T02:30+01:00', '2026-03-29T01:30:00.000Z'],
  ['2026-03-29T02:30:00.25+02:00', '2026-03-29T00:30:00.250Z'],
  ['2026-11-01T01:30:00-04:00', '2026-11-01T05:30:00.000Z'],
  ['2026-11-01', '2026-11-01T00:00:00.000Z'],
])('%s is %s', (text, instant) => {
  expect(new Date(instantFlag(text)).toISOString()).toBe(instant);
});
