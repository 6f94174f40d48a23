import { expect, it } from 'vitest';
import { formatStatus } from '../../src/cli/status.ts';

const nowMs = Date.parse('2026-01-05T12:00:00Z');
const body = (status: unknown) => formatStatus({ health: { status: 'ready', checks: [] }, status }, nowMs);

it.each([
  ['2026-01-05T11:59:59.500Z', '1 s ago'],
  ['2026-01-05T11:55:00Z', '5 min ago'],
  ['2026-01-05T06:00:00Z', '6 h ago'],
  ['2026-01-01T12:00:00Z', '4 days ago'],
])('tells the age of the instant %s', (instant, age) => {
  expect(body({ since: instant })).toContain(`since  ${instant} (${age})`);
});

it('leaves instants of the future, and what only looks like one, as they are', () => {
  expect(body({ expires: '2026-01-05T12:10:00Z', name: '2026-01-05' })).toContain(
    'expires  2026-01-05T12:10:00Z\nname     2026-01-05\n',
  );
});

it('names a block inside a block by its path', () => {
  expect(body({ relay: { log: { position: '1' } } })).toContain('relay log\n  position  1\n');
});

it('shows what a table row lacks as a dash, and empty lists as they are', () => {
  expect(body({ rows: [{ a: 1 }, { b: false }], none: [] })).toContain('none  []\n\nrows\n  A  B\n  1  -\n  -  false\n');
});

it('bears documents that are no objects', () => {
  expect(formatStatus({ health: null, status: 'text' }, nowMs)).toBe('unknown\n');
});
