import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { markdownOf, pageOf, titleOf } from './site-pages.ts';

interface SidebarItem {
  readonly text: string;
  readonly link: string;
}

interface SidebarGroup {
  readonly text: string;
  readonly collapsed: boolean;
  readonly items: readonly (SidebarItem | SidebarGroup)[];
}

/**
 * The sidebar is docs/README.md: a group for each heading, an item for each page that a row names
 * first or beside another, in its order. A folder becomes a group of its pages. Throws for a page
 * of docs/ that no row names, since no reader would find it.
 */
export function sidebar(): SidebarGroup[] {
  const named = new Set<string>();
  const groups = readFileSync('docs/README.md', 'utf8')
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      text: section.slice(0, section.indexOf('\n')),
      collapsed: false,
      items: itemsOf(section, named),
    }));
  const missing = globSync('docs/*.md').filter((page) => page !== 'docs/README.md' && !named.has(page));
  if (missing.length > 0) throw new Error(`docs/README.md has no row for ${missing.join(', ')}`);
  return groups.filter(({ items }) => items.length > 0);
}

function itemsOf(section: string, named: Set<string>): (SidebarItem | SidebarGroup)[] {
  const rows = section.match(/^\| .*$/gm) ?? [];
  const targets = rows.flatMap((row) =>
    [...row.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, path = '']) => join('docs', path).replace(/\/$/, '')),
  );
  const items: (SidebarItem | SidebarGroup)[] = [];
  for (const target of targets) {
    if (named.has(target) || named.has(dirname(target)) || !existsSync(target)) continue;
    named.add(target);
    if (statSync(target).isDirectory()) items.push(folderGroup(target));
    else if (target.endsWith('.md')) items.push(itemOf(target));
  }
  return items;
}

function folderGroup(folder: string): SidebarGroup {
  const names = [...markdownOf(folder).matchAll(/\]\((.*)\)$/gm)].map(([, name = '']) => join(folder, name));
  return { text: titleOf(folder), collapsed: true, items: names.map(itemOf) };
}

/** The title without what follows its colon: a sidebar is narrow. */
function itemOf(source: string): SidebarItem {
  const title = titleOf(source);
  return { text: /^(.*?)(:| \(|$)/.exec(title)?.[1] ?? title, link: `/${pageOf(source)}` };
}
