/** A runbook's words, in the order of the text. */
export type RunbookWord =
  | { readonly kind: 'text' | 'code'; readonly text: string }
  /** To another runbook. */
  | { readonly kind: 'link'; readonly text: string; readonly name: string };

export type RunbookBlock =
  | { readonly kind: 'title' | 'heading' | 'text'; readonly words: readonly RunbookWord[] }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'list'; readonly ordered: boolean; readonly items: readonly (readonly RunbookBlock[])[] };

/**
 * The parts of a runbook, in its little Markdown: headings, paragraphs, lists, code and links
 * between runbooks. The reader sees anything else as written; nothing becomes markup.
 */
export function blocksOf(text: string): RunbookBlock[] {
  return parse(text.replaceAll('\r', '').split('\n'));
}

function parse(lines: readonly string[]): RunbookBlock[] {
  const blocks: RunbookBlock[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? '';
    const [, hashes, heading = ''] = /^(#{1,3}) +(.*)$/.exec(line) ?? [];
    if (line.trim() === '') at += 1;
    else if (hashes !== undefined) {
      blocks.push({ kind: hashes === '#' ? 'title' : 'heading', words: wordsOf(heading) });
      at += 1;
    } else {
      const taken = takerOf(line)(lines, at);
      blocks.push(taken.block);
      at = taken.next;
    }
  }
  return blocks;
}

interface Taken {
  readonly block: RunbookBlock;
  /** The line after it. */
  readonly next: number;
}

const itemStart = /^(?:\d+\.|-) +/;
const codeStart = /^ {4}/;
const fence = /^```/;

function takerOf(line: string): (lines: readonly string[], first: number) => Taken {
  if (itemStart.test(line)) return takeList;
  if (fence.test(line)) return takeFenced;
  return codeStart.test(line) ? takeCode : takeText;
}

/** The items in a list; indented lines belong to the item before them. */
function takeList(lines: readonly string[], first: number): Taken {
  const ordered = /^\d/.test(lines[first] ?? '');
  const items: string[][] = [];
  let at = first;
  for (; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    if (itemStart.test(line)) items.push([line.replace(itemStart, '')]);
    else if (line.trim() === '' || /^ {2}/.test(line)) items.at(-1)?.push(line.replace(/^ {2,3}/, ''));
    else break;
  }
  return { block: { kind: 'list', ordered, items: items.map((item) => parse(item)) }, next: at };
}

/** Code between two fences; an unclosed fence takes the rest. */
function takeFenced(lines: readonly string[], first: number): Taken {
  const end = lines.findIndex((line, at) => at > first && fence.test(line));
  const close = end < 0 ? lines.length : end;
  return { block: { kind: 'code', text: lines.slice(first + 1, close).join('\n') }, next: close + 1 };
}

function takeCode(lines: readonly string[], first: number): Taken {
  const next = endOf(lines, first, (line) => codeStart.test(line));
  const text = lines
    .slice(first, next)
    .map((line) => line.slice(4))
    .join('\n');
  return { block: { kind: 'code', text }, next };
}

function takeText(lines: readonly string[], first: number): Taken {
  const next = endOf(
    lines,
    first,
    (line) => line.trim() !== '' && !itemStart.test(line) && !fence.test(line) && !line.startsWith('#'),
  );
  const text = lines
    .slice(first, next)
    .map((line) => line.trim())
    .join(' ');
  return { block: { kind: 'text', words: wordsOf(text) }, next };
}

function endOf(lines: readonly string[], first: number, goesOn: (line: string) => boolean): number {
  let at = first + 1;
  while (at < lines.length && goesOn(lines[at] ?? '')) at += 1;
  return at;
}

const special = /`([^`]+)`|\[([^\]]+)\]\(([\w./-]+)\.md(?:#[\w-]+)?\)|(?<=\bgo to )([A-Z][A-Za-z]+)/g;

/**
 * Code between backticks, links to other runbooks, and "go to NAME" as a link. Other pages are
 * named: the service does not serve them.
 */
function wordsOf(text: string): RunbookWord[] {
  const words: RunbookWord[] = [];
  let end = 0;
  for (const found of text.matchAll(special)) {
    const [all, code, label = all, linked = all] = found;
    if (found.index > end) words.push({ kind: 'text', text: text.slice(end, found.index) });
    if (code !== undefined) words.push({ kind: 'code', text: code });
    else if (linked.startsWith('../')) words.push({ kind: 'text', text: `${label} (docs/${linked.slice(3)}.md)` });
    else words.push({ kind: 'link', text: label, name: linked });
    end = found.index + all.length;
  }
  if (end < text.length) words.push({ kind: 'text', text: text.slice(end) });
  return words;
}
