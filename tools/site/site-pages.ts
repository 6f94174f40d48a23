import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, relative } from 'node:path';

/** The pages of the site by their path in it, and the pictures, which are copied as they are. */
interface SitePages {
  readonly pages: ReadonlyMap<string, string>;
  readonly pictures: readonly string[];
}

const languages: Readonly<Record<string, string>> = {
  '.java': 'java',
  '.json': 'json',
  '.py': 'python',
  '.service': 'ini',
  '.ts': 'ts',
  '.xml': 'xml',
};

/**
 * The Markdown of the project as the site needs it. GitHub shows a folder and a
 * file of code where a link leads to one; here each of them becomes a page of its
 * own. Throws when a link leads to nothing.
 */
export function sitePages(): SitePages {
  const pages = new Map<string, string>();
  const waiting = [...globSync('*.md'), ...globSync('docs/**/*.md')];
  for (let source = waiting.pop(); source !== undefined; source = waiting.pop()) {
    const page = pageOf(source);
    if (pages.has(page)) continue;
    const text = markdownOf(source);
    pages.set(page, withLinks(text, source, page));
    waiting.push(...linksOf(text).map((link) => targetOf(source, link)));
  }
  return { pages, pictures: globSync('docs/**/*.png') };
}

/**
 * Where a file or folder of the project is in the site: docs/ is its
 * root, and docs/README.md its first page.
 */
export function pageOf(source: string): string {
  if (source === 'docs/README.md') return 'index.md';
  const path = relative('docs', source).replace(/^\.\.\//, '');
  if (existsSync(source) && statSync(source).isDirectory()) return join(path, 'index.md');
  return path.endsWith('.md') ? path.replace(/^[A-Z]+\.md$/, (name) => name.toLowerCase()) : `${path}.md`;
}

/** What GitHub shows of it, as Markdown. */
export function markdownOf(source: string): string {
  if (statSync(source).isDirectory()) {
    const names = readdirSync(source).filter((name) => statSync(join(source, name)).isFile());
    const title = basename(source).replace(/^./, (letter) => letter.toUpperCase());
    return [`# ${title}`, '', ...names.map((name) => `- [${titleOf(join(source, name))}](${name})`), ''].join('\n');
  }
  const text = readFileSync(source, 'utf8');
  if (source.endsWith('.md')) return text;
  return `# ${basename(source)}\n\n\`\`\`\`${languages[extname(source)] ?? 'text'}\n${text}\`\`\`\`\n`;
}

/** The first heading of a page; of any other file its name. */
export function titleOf(source: string): string {
  return /^# (.*)$/m.exec(markdownOf(source))?.[1] ?? basename(source);
}

/** For `split`: every second part is a fence. */
const fence = /(^````[^\n]*\n[\s\S]*?^````$|^```[^\n]*\n[\s\S]*?^```$)/m;
const link = /\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)/g;

function linksOf(text: string): string[] {
  const prose = text.split(fence).filter((_, index) => index % 2 === 0);
  return prose.flatMap((part) => [...part.matchAll(link)].map(([, path = '']) => path)).filter((path) => path !== '');
}

function targetOf(source: string, path: string): string {
  const folder = existsSync(source) && statSync(source).isDirectory() ? source : dirname(source);
  const target = join(folder, path).replace(/\/$/, '');
  if (!existsSync(target)) throw new Error(`${source} links to ${path}, which does not exist`);
  return target;
}

/** The text with its links and pictures as the site has them. Fences stay as they are. */
function withLinks(text: string, source: string, page: string): string {
  const inProse = (part: string) =>
    part
      .replace(link, (whole, path: string, anchor = '') => {
        if (path === '') return whole;
        const to = relative(dirname(page), pageOf(targetOf(source, path)));
        return `](${to.startsWith('.') ? to : `./${to}`}${anchor})`;
      })
      .replace(
        /\b(src|srcset)="([\w./-]+\.png)"/g,
        (_, name: string, path: string) => `${name}="/${relative('docs', targetOf(source, path))}"`,
      );
  return text
    .split(fence)
    .map((part, index) => (index % 2 === 0 ? inProse(part) : part))
    .join('');
}
