import { expect, it } from 'vitest';
import { factLine } from '../../src/demo/fact-text.ts';

it('a long piece of evidence is cut visibly', () => {
  const fact = { at: '2026-11-30T01:02:03.456Z', kind: 'answer', code: 'unknown', detail: { reason: 'x'.repeat(300) } };
  expect(factLine({ ...fact, detail: { reason: 'short' } })).toBe('01:02:03.456  answer unknown: reason short');
  expect(factLine(fact)).toMatch(/^01:02:03\.456 {2}answer unknown: reason x+…$/);
  expect(factLine(fact)).toHaveLength(200);
});
