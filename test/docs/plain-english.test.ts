import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/** Words of a page, as `wc -w` counts them. */
const wordsOf = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;

const pages = globSync('docs/**/*.md').filter((page) => !page.startsWith('docs/decisions/'));
const decisions = globSync('docs/decisions/*.md');
const sum = (files: readonly string[]): number =>
  files.reduce((total, file) => total + wordsOf(readFileSync(file, 'utf8')), 0);

/**
 * The sentences of a page: a paragraph, an item of a list and a cell of a table end one as well.
 * Fences are left out. A link counts by its text, code as one word.
 */
function sentencesOf(markdown: string): string[] {
  return markdown
    .replace(/^(`{3,}).*?^\1$/gms, '\n\n')
    .replace(/^ {4}.*$/gm, '\n')
    .replace(/`[^`]*`/g, 'code')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<[^>]*>/g, '')
    .split(/\n\s*\n|\n(?=\s*(?:[-*#>|]|\d+\.) ?)|\|/)
    .flatMap((part) => part.split(/(?<=[.!?:])["')*]*\s+/))
    .map((sentence) => sentence.replace(/\s+/g, ' ').trim())
    .filter((sentence) => sentence !== '');
}

describe('the words of docs/', () => {
  // The bounds only go down.
  it('are few: a page that grows has to lose as much elsewhere', () => {
    expect(sum(pages)).toBeLessThanOrEqual(50_000);
    expect(sum(decisions)).toBeLessThanOrEqual(22_000);
  });

  it.each([...pages, ...decisions, 'README.md', 'CONTRIBUTING.md'])('%s has no sentence above 35 words', (page) => {
    const long = sentencesOf(readFileSync(page, 'utf8')).filter((sentence) => wordsOf(sentence) > 35);
    expect(long).toEqual([]);
  });
});

it('the reader of sentences knows paragraphs, lists, cells and code', () => {
  expect(sentencesOf('# A\n\nB c. D `e f`\ng.\n- h\n- i: j\n\n| k | l. m |\n\n```\nn\n```\n')).toEqual([
    '# A',
    'B c.',
    'D code g.',
    '- h',
    '- i:',
    'j',
    'k',
    'l.',
    'm',
  ]);
});
