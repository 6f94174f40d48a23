import { expect, it } from 'vitest';
import { browserText } from '../../../src/service/rest/console/browser-text.ts';

it('leaves out types and comments on lines of their own, and keeps every line at its number', () => {
  const source = [
    '/**',
    ' * What it does, with // in it.',
    ' */',
    'export const a: number = 1; // here',
    '  // alone',
    '  /** short */ export const b = `x /** y */`;',
    "/** One. */\nexport const c = 'https://a';",
  ].join('\n');
  const text = browserText(source);
  expect(text.split('\n')).toEqual([
    ...['', '', '', 'export const a         = 1; // here', ''],
    ...['  /** short */ export const b = `x /** y */`;', '', "export const c = 'https://a';"],
  ]);
});
