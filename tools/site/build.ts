import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { ensurePackages } from '../packages.ts';
import { brokenLinks } from './broken-links.ts';
import { cliPage } from './cli-page.ts';
import { sitePages } from './site-pages.ts';

// `npm run docs`: docs/ as a site with search, in tools/site/dist. Any static server can serve it.
// Fails when a link leads nowhere.
const folder = import.meta.dirname;
process.chdir(resolve(folder, '../..'));
const staged = join(folder, '.cache/pages');
const site = join(folder, 'dist');

async function build(): Promise<number> {
  ensurePackages(folder);
  rmSync(staged, { recursive: true, force: true });
  const { pages, pictures } = sitePages();
  const all = new Map([...pages, ['cli.md', await cliPage()]]);
  for (const [path, text] of all) {
    mkdirSync(dirname(join(staged, path)), { recursive: true });
    writeFileSync(join(staged, path), text);
  }
  for (const picture of pictures) cpSync(picture, join(staged, 'public', relative('docs', picture)));
  const vitepress = join(folder, 'node_modules/vitepress/bin/vitepress.js');
  const { status } = spawnSync(process.execPath, [vitepress, 'build', folder], { stdio: 'inherit' });
  if (status !== 0) return status ?? 1;
  const broken = brokenLinks(site);
  if (broken.length > 0) process.stderr.write(`links that lead nowhere:\n${broken.join('\n')}\n`);
  else process.stdout.write(`${all.size} pages in ${relative('.', site)}, each link leads somewhere\n`);
  return broken.length > 0 ? 1 : 0;
}

process.exitCode = await build();
