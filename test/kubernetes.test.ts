import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import pino from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { commandEntries } from '../src/cli/commands.ts';
import { loadConfig } from '../src/config/load-config.ts';
import { optionTable } from '../src/config/option-table.ts';
import { defaultShardCount } from '../src/domain/partition.ts';
import { EventLoopWatch } from '../src/observability/event-loop-watch.ts';
import { HealthRegistry } from '../src/observability/health.ts';
import { createMetrics } from '../src/observability/metrics.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { AdminServer } from '../src/service/rest/admin-server.ts';
import { typeErrors } from './support/kubernetes-types.ts';

// What the text alone can tell.

const container = z.object({
  name: z.string(),
  image: z.literal('tidemark'),
  args: z.array(z.string()),
  env: z.array(z.object({ name: z.string(), value: z.string().optional() })).default([]),
  envFrom: z.array(z.object({ configMapRef: z.object({ name: z.string() }) })).default([]),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })).default([]),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })).default([]),
  resources: z.object({ requests: z.object({ memory: z.string() }), limits: z.object({ memory: z.string() }) }),
  securityContext: z.unknown(),
});
const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.literal('admin') }) });
const pod = z.object({
  metadata: z.object({ labels: z.record(z.string(), z.string()) }).optional(),
  spec: z.object({
    automountServiceAccountToken: z.literal(false),
    enableServiceLinks: z.literal(false),
    terminationGracePeriodSeconds: z.number().optional(),
    securityContext: z.unknown(),
    initContainers: z.array(container).default([]),
    containers: z.array(container),
    volumes: z.array(z.object({ name: z.string(), secret: z.object({ secretName: z.string() }).optional() })),
  }),
});

interface Relabel {
  readonly source_labels: readonly [string];
  readonly regex: string;
  readonly action: 'keep' | 'drop';
}

const manifests = globSync('kubernetes/{service,migrate}/*.yaml')
  .filter((path) => basename(path) !== 'kustomization.yaml')
  .sort()
  .map((path) => ({ path, value: parse(readFileSync(path, 'utf8')) }));
const folders = globSync('kubernetes/*/kustomization.yaml').map((path) => ({
  folder: dirname(path),
  value: parse(readFileSync(path, 'utf8')),
}));
const named = (kind: string) => manifests.find(({ value }) => value.kind === kind)?.value;
const service = pod.parse(named('Deployment').spec.template);
const job = pod.parse(named('Job').spec.template);
const [serve] = service.spec.containers;
if (serve === undefined) throw new Error('the Deployment has no container');
const containers = [service, job].flatMap(({ spec }) => [...spec.initContainers, ...spec.containers]);
const compose = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }).services;
const page = readFileSync('docs/kubernetes.md', 'utf8');

/**
 * The environment as the container gets it. Files are named as their
 * settings, with some content of the right shape.
 */
function environmentOf({ env, envFrom }: z.output<typeof container>): Record<string, string> {
  const maps = envFrom.flatMap(({ configMapRef }) => folders.flatMap((each) => settingsOf(each, configMapRef.name)));
  const own = env.flatMap(({ name, value }) =>
    value === undefined ? [] : [[name, value.replace('$(POD_IP)', '10.1.2.3')]],
  );
  return Object.fromEntries([...maps, ...own]);
}

function settingsOf({ folder, value }: (typeof folders)[number], map: string): string[][] {
  const { envs = [], literals = [] } =
    value.configMapGenerator.find(({ name }: { name: string }) => name === map) ?? {};
  const files = envs.flatMap((path: string) => readFileSync(join(folder, path), 'utf8').split('\n'));
  const lines = [...files, ...literals].filter((line: string) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]);
}

describe('the manifests for Kubernetes', () => {
  it('have only fields that their kinds have, each of the right type', () => {
    expect(manifests.map(({ value }) => value.kind).sort()).toEqual(
      ['Deployment', 'HorizontalPodAutoscaler', 'Job', 'NetworkPolicy', 'PodDisruptionBudget', 'Service'].sort(),
    );
    expect(typeErrors(manifests.map(({ value }) => value))).toEqual([]);
  });

  it('would not pass with a field that a kind does not have, or one of another type', () => {
    const budget = named('PodDisruptionBudget');
    const wrong = [
      { ...budget, spec: { ...budget.spec, maxUnavailible: 1 } },
      { ...budget, spec: { ...budget.spec, selector: 'tidemark' } },
      { ...budget, apiVersion: 'policy/v1beta1' },
    ];
    expect(wrong.map((value) => typeErrors([value]).length)).toEqual([1, 1, 1]);
  });

  it.each(folders)('$folder names each of its files, and the version of this package', ({ folder, value }) => {
    expect(value.resources.toSorted()).toEqual(
      manifests.filter(({ path }) => dirname(path) === folder).map(({ path }) => basename(path)),
    );
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(value.images).toEqual([{ name: 'tidemark', newTag: version }]);
  });

  it('select the pods of the service by the label that those have, and not those of the job', () => {
    const labels = { 'app.kubernetes.io/name': 'tidemark' };
    expect([service.metadata?.labels, job.metadata?.labels]).toEqual([labels, undefined]);
    const selectors = [named('Deployment').spec.selector, named('PodDisruptionBudget').spec.selector];
    const inPolicy = [
      named('NetworkPolicy').spec.podSelector,
      named('NetworkPolicy').spec.ingress[0].from[0].podSelector,
    ];
    const spread = named('Deployment').spec.template.spec.topologySpreadConstraints[0].labelSelector;
    for (const { matchLabels } of [...selectors, ...inPolicy, spread]) expect(matchLabels).toEqual(labels);
    expect(named('Service').spec.selector).toEqual(labels);
    expect(named('HorizontalPodAutoscaler').spec.scaleTargetRef).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      name: named('Deployment').metadata.name,
    });
  });

  it('start commands that there are', () => {
    const names = commandEntries.map(({ name }) => name);
    expect(containers.filter(({ args }) => !names.includes(args[0] ?? ''))).toEqual([]);
  });

  it('set what the service needs, without a fault or a warning', () => {
    const content = {
      'database-url': 'postgres://tidemark_service@db/tidemark?sslmode=verify-full',
      'platform-secret': 'f00d',
    };
    const readFile = (path: string) => content[basename(path) as keyof typeof content] ?? '';
    const env = { ...environmentOf(serve), NODE_ENV: 'production' };
    const needed = ['databaseUrl', 'kafkaBrokers', 'platformUrl', 'platformClientId', 'platformClientSecret'] as const;
    const loaded = loadConfig(env, readFile, needed);
    expect(loaded).toMatchObject({ ok: true, warnings: [] });
    expect(loaded.ok && loaded.config.advertisedUrl).toBe('http://10.1.2.3:8080');
    for (const each of containers) {
      const isOfJob = each !== serve;
      if (isOfJob) expect(loadConfig(environmentOf(each), readFile)).toMatchObject({ ok: true, warnings: [] });
    }
  });

  it.each([
    ['alpaca', ['alpacaKeyId', 'alpacaSecretKey']],
    ['platform,alpaca', ['alpacaKeyId', 'alpacaSecretKey', 'platformUrl', 'platformClientSecret']],
  ] as const)('follow %s with the values of values-alpaca.yaml', (venues, needed) => {
    const { settings, secretFiles } = parse(readFileSync('kubernetes/values-alpaca.yaml', 'utf8'));
    expect(settings).toMatchObject({ VENUES: 'alpaca', ALPACA_ENVIRONMENT: 'paper' });
    const { PLATFORM_CLIENT_SECRET_FILE: ofPlatform, ...own } = environmentOf(serve);
    const files = Object.entries(secretFiles).map(([name, file]) => [`${name}_FILE`, `/etc/tidemark/${file}`]);
    const env = { ...own, ...settings, ...Object.fromEntries(files), VENUES: venues, NODE_ENV: 'production' };
    if (venues !== 'alpaca') Object.assign(env, { PLATFORM_CLIENT_SECRET_FILE: ofPlatform });
    const loaded = loadConfig(env, () => 'postgres://u@db/tidemark?sslmode=verify-full', ['databaseUrl', ...needed]);
    expect(loaded).toMatchObject({ ok: true, warnings: [], config: { venues: venues.split(',') } });
  });

  it('set only settings that there are, and each secret from a file that docs/kubernetes.md makes', () => {
    const known = new Set<string>(Object.values(optionTable).map(({ env }) => env));
    const names = containers.flatMap((each) => Object.keys(environmentOf(each)));
    expect(names.filter((name) => !known.has(name.replace(/_FILE$/, '')))).toEqual([]);
    for (const { spec } of [service, job])
      for (const { env, volumeMounts } of [...spec.initContainers, ...spec.containers])
        for (const { name, value = '' } of env.filter((each) => each.name.endsWith('_FILE'))) {
          const mount = volumeMounts.find(({ mountPath }) => mountPath === dirname(value));
          const secret = spec.volumes.find((volume) => volume.name === mount?.name)?.secret?.secretName;
          expect(page, name).toMatch(new RegExp(`create secret generic ${secret} .*--from-file=${basename(value)}\\b`));
        }
  });

  it('give the ports that the service listens on, and probe what it answers', async () => {
    const usual = loadConfig({}, () => '');
    if (!usual.ok) throw new Error('without settings there is a fault');
    expect(serve.ports).toEqual([
      { name: 'rest', containerPort: usual.config.httpPort },
      { name: 'admin', containerPort: usual.config.adminPort },
    ]);
    const { livenessProbe, readinessProbe, startupProbe } = named('Deployment').spec.template.spec.containers[0];
    const paths = [livenessProbe, readinessProbe, startupProbe].map((each) => probe.parse(each).httpGet.path);
    const deps = { clock: systemClock, log: pino({ level: 'silent' }), metrics: createMetrics(), status: () => ({}) };
    const health = new HealthRegistry({ clock: systemClock }, { checkDeadlineMs: 1000, maxAgeMs: 0 });
    const eventLoop = new EventLoopWatch(
      { clock: systemClock },
      { sampleEveryMs: 500, lateMs: 60_000, lateInARow: 10 },
    );
    const server = new AdminServer({ ...deps, health, eventLoop }, { host: '127.0.0.1', port: 0 });
    await server.start();
    onTestFinished(() => server.drain());
    for (const path of paths) expect((await fetch(`${server.address}${path}`)).status, path).toBe(200);
  });

  it('give as much time and memory as Compose does, and scale no further than there are shards', () => {
    const { stop_grace_period: stop, mem_limit: memory } = compose.tidemark;
    expect(`${service.spec.terminationGracePeriodSeconds}s`).toBe(stop);
    expect(serve.resources.limits.memory.toLowerCase()).toBe(`${memory}i`);
    expect(named('HorizontalPodAutoscaler').spec.maxReplicas).toBeLessThanOrEqual(defaultShardCount);
  });

  it('are scraped by the job of docs/kubernetes.md alone, and only while they run', () => {
    // With the annotations a general job scrapes the pods too, under a name that no rule asks for.
    expect(manifests.filter(({ value }) => JSON.stringify(value).includes('prometheus.io/'))).toEqual([]);
    const [, text = ''] = /```yaml\n(scrape_configs:[^`]*)```/.exec(page) ?? [];
    const [scrape] = parse(text).scrape_configs;
    expect(scrape.job_name).toMatch(/^tidemark/);
    const metaOf = (name: string, port: string, phase: string) => ({
      __meta_kubernetes_pod_label_app_kubernetes_io_name: name,
      __meta_kubernetes_pod_container_port_name: port,
      __meta_kubernetes_pod_phase: phase,
    });
    const isScraped = (labels: Readonly<Record<string, string>>) =>
      scrape.relabel_configs.every(({ source_labels: [label], regex, action }: Relabel) => {
        const isMatch = new RegExp(`^(?:${regex})$`).test(labels[label] ?? '');
        return action === 'keep' ? isMatch : !isMatch;
      });
    const { labels } = service.metadata ?? { labels: {} };
    const name = labels['app.kubernetes.io/name'] ?? '';
    expect(['Pending', 'Running', 'Unknown'].map((phase) => isScraped(metaOf(name, 'admin', phase)))).toEqual([
      true,
      true,
      true,
    ]);
    // An evicted pod stays in the list of pods: it would be a target that is down for as long.
    expect(['Failed', 'Succeeded'].map((phase) => isScraped(metaOf(name, 'admin', phase)))).toEqual([false, false]);
    expect([isScraped(metaOf(name, 'rest', 'Running')), isScraped(metaOf('', '', 'Running'))]).toEqual([false, false]);
  });

  it('run every container without rights, as the user of the image', () => {
    const [, user] = /^USER (\d+):\1$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
    const ids = { runAsUser: Number(user), runAsGroup: Number(user), fsGroup: Number(user) };
    for (const { spec } of [service, job])
      expect(spec.securityContext).toEqual({ runAsNonRoot: true, ...ids, seccompProfile: { type: 'RuntimeDefault' } });
    const none = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };
    for (const { name, securityContext } of containers) expect(securityContext, name).toEqual(none);
  });

  it('hold no secret, and are all in folders that docs/kubernetes.md applies', () => {
    expect(manifests.filter(({ value }) => value.kind === 'Secret')).toEqual([]);
    for (const { folder } of folders) expect(page).toContain(`kubectl apply -k ${folder}`);
    expect(existsSync('kubernetes/service/settings.env')).toBe(true);
  });
});
