import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

// `npm run -s sbom`: what the package and the image bring, as CycloneDX, from the lock file alone.
// Not `npm sbom --omit dev`: npm 11 then leaves out each package that a development package needs
// too, undici and pg-protocol among them.
interface Locked {
  readonly dev?: boolean;
  /** The project itself, which its own tests import by its name. */
  readonly link?: boolean;
}

const root = resolve(import.meta.dirname, '..');
const read = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'));

const { devDependencies: _, ...project } = read('package.json');
const lock = read('package-lock.json');
const { devDependencies: __, ...lockedProject } = lock.packages[''];
const kept = Object.entries<Locked>(lock.packages).filter(([path, { dev, link }]) => path !== '' && !dev && !link);

const folder = mkdtempSync(join(tmpdir(), 'tidemark-sbom-'));
try {
  // npm names the component after its folder.
  const home = join(folder, project.name);
  mkdirSync(home);
  writeFileSync(join(home, 'package.json'), JSON.stringify(project));
  const packages = { '': lockedProject, ...Object.fromEntries(kept) };
  writeFileSync(join(home, 'package-lock.json'), JSON.stringify({ ...lock, packages }));
  const args = ['sbom', '--package-lock-only', '--sbom-type', 'application', '--sbom-format', 'cyclonedx'];
  const { status } = spawnSync('npm', args, { cwd: home, stdio: 'inherit' });
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true });
}
