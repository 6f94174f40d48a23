import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { blocksOf, type RunbookBlock } from '../../src/console/state/text/runbook-text.ts';

const shortOf = (block: RunbookBlock): unknown =>
  block.kind === 'list'
    ? block.items.map((item) => item.map(shortOf))
    : block.kind === 'code'
      ? block.text
      : block.words;

describe('a runbook', () => {
  it('names a page that the service does not serve', () => {
    expect(blocksOf('see [lanes](../operating.md#more-than-one-lane)').map(shortOf)).toEqual([
      [
        { kind: 'text', text: 'see ' },
        { kind: 'text', text: 'lanes (docs/operating.md)' },
      ],
    ]);
  });

  it('has code between fences too, within a list and beside it', () => {
    const text = '1. Run\n   ```sh\n   tidemark doctor\n   ```\n\n```\na\n\nb\n```\nafter\n';
    expect(blocksOf(text)).toMatchObject([
      { kind: 'list', items: [[{ kind: 'text' }, { kind: 'code', text: 'tidemark doctor' }]] },
      { kind: 'code', text: 'a\n\nb' },
      { kind: 'text' },
    ]);
  });

  it('is read as headings, lists, code, and links to other runbooks', () => {
    const text =
      '# A\n\n## B\n\none\ntwo `x < y`\n\n1. first: [C](after-restore.md)\n2. go to SourceSilent.\n\n       $ run\n         it\n\n   more\n';
    const blocks = blocksOf(text);
    expect(blocks.map(({ kind }) => kind)).toEqual(['title', 'heading', 'text', 'list']);
    expect(blocks.map(shortOf)).toEqual([
      [{ kind: 'text', text: 'A' }],
      [{ kind: 'text', text: 'B' }],
      [
        { kind: 'text', text: 'one two ' },
        { kind: 'code', text: 'x < y' },
      ],
      [
        [
          [
            { kind: 'text', text: 'first: ' },
            { kind: 'link', text: 'C', name: 'after-restore' },
          ],
        ],
        [
          [
            { kind: 'text', text: 'go to ' },
            { kind: 'link', text: 'SourceSilent', name: 'SourceSilent' },
            { kind: 'text', text: '.' },
          ],
          '$ run\n  it',
          [{ kind: 'text', text: 'more' }],
        ],
      ],
    ]);
  });

  it.each(globSync('docs/runbooks/*.md'))('%s is read whole, and its links lead to runbooks that there are', (file) => {
    const all = JSON.stringify(blocksOf(readFileSync(file, 'utf8')));
    expect(all).not.toMatch(/"kind":"text","text":"[^"]*(?:\]\(|^#|`)/);
    const names = [...all.matchAll(/"name":"([^"]+)"/g)].map(([, name]) => `docs/runbooks/${name}.md`);
    expect(names.filter((name) => globSync(name).length === 0)).toEqual([]);
  });
});
