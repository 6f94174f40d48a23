import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { typeErrors } from '../support/kubernetes-types.ts';

const helmVersion = 'v3.20.2';
const bin = join(import.meta.dirname, '../../node_modules/.cache/helm', helmVersion);
const folder = mkdtempSync(join(tmpdir(), 'tidemark-chart-'));
const chart = join(folder, 'chart');

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; annotations?: object };
  // biome-ignore lint/suspicious/noExplicitAny: the fields of any kind
  readonly [field: string]: any;
}

function run(program: string, args: readonly string[], env = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    timeout: 900_000,
    maxBuffer: 64_000_000,
    env: { ...process.env, ...env },
  });
  return { status, said: `${error?.message ?? ''}${stdout}\n${stderr}`, stdout };
}

/** The objects that the chart has with these values, by kind and name. */
function rendered(values: object = {}): Map<string, Manifest> {
  const file = join(folder, 'values.json');
  writeFileSync(file, JSON.stringify(values));
  const { status, said, stdout } = run(join(bin, 'helm'), [
    ...['template', 'tidemark', chart, '--values', file],
    // A Helm that `go install` built takes itself for one of 1.20.
    ...['--kube-version', '1.34'],
  ]);
  expect(status, said).toBe(0);
  const objects = parseAllDocuments(stdout, { version: '1.1', merge: true }).map((each) => each.toJSON());
  return new Map(objects.flatMap((each) => (each === null ? [] : [[`${each.kind} ${each.metadata.name}`, each]])));
}

const fullValues = {
  image: { repository: 'registry.example/tidemark', tag: '9.9.9' },
  shards: 64,
  replicas: { min: 3, max: 12 },
  secretFiles: { KAFKA_SASL_PASSWORD: 'kafka-password' },
  settings: { KAFKA_SASL_USERNAME: 'tidemark', TIDEMARK_TOPIC_PREFIX: 'eu' },
  imagePullSecrets: [{ name: 'registry' }],
  nodeSelector: { 'kubernetes.io/arch': 'amd64' },
  tolerations: [{ key: 'trading', operator: 'Exists' }],
  priorityClassName: 'trading',
  monitoring: { enabled: true, labels: { release: 'prometheus' }, dashboards: { enabled: true } },
};
const ofOperator = (kind: string) => kind === 'PodMonitor' || kind === 'PrometheusRule';

/** The chart as `npm run chart` makes it, and Helm itself, built from its module. */
beforeAll(() => {
  if (!existsSync(join(bin, 'helm'))) {
    const built = run('go', ['install', `helm.sh/helm/v3/cmd/helm@${helmVersion}`], { GOBIN: bin });
    expect(built.status, `Helm is built with Go: ${built.said}`).toBe(0);
  }
  const made = run('npm', ['run', '-s', 'chart', '--', chart]);
  expect(made.status, made.said).toBe(0);
});

describe('the Helm chart', () => {
  it('passes the lint of Helm, without a warning', () => {
    const { status, said } = run(join(bin, 'helm'), ['lint', '--strict', chart]);
    expect(status, said).toBe(0);
    expect(said).not.toContain('[WARNING]');
  });

  it('has the objects of the manifests, but for what only Helm adds', () => {
    const objects = rendered();
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    const manifests = globSync('kubernetes/{service,migrate}/*.yaml').filter(
      (path) => !path.endsWith('kustomization.yaml'),
    );
    expect(manifests).toHaveLength(6);
    for (const path of manifests) {
      const text = readFileSync(path, 'utf8').replaceAll('image: tidemark\n', `image: tidemark:${version}\n`);
      const asked: Manifest = parse(text, { merge: true });
      const made = objects.get(`${asked.kind} ${asked.metadata.name}`);
      if (made === undefined) throw new Error(`the chart does not have ${path}`);
      if (asked.kind === 'Deployment') delete made['spec'].template.metadata.annotations;
      if (asked.kind === 'Job') {
        delete made.metadata.annotations;
        // A hook runs before the release has its ConfigMap.
        const { configMapGenerator } = parse(readFileSync('kubernetes/migrate/kustomization.yaml', 'utf8'));
        const [topics] = made['spec'].template.spec.containers;
        const env: { readonly name: string; readonly value: string }[] = topics.env;
        expect(env.map(({ name, value }) => `${name}=${value}`)).toEqual(configMapGenerator[0].literals);
        delete topics.env;
        delete asked['spec'].template.spec.containers[0].envFrom;
      }
      expect(made, path).toEqual(asked);
    }
    expect(objects.get('ConfigMap tidemark-settings')?.['data']).toEqual(
      Object.fromEntries(
        readFileSync('kubernetes/service/settings.env', 'utf8')
          .split('\n')
          .flatMap((line) =>
            /^\w+=/.test(line) ? [[line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]] : [],
          ),
      ),
    );
    expect(objects.size).toBe(manifests.length + 1);
  });

  it('has fields of the right kinds, with each value given', () => {
    const objects = [...rendered(fullValues).values()];
    expect(typeErrors(objects.filter(({ kind }) => !ofOperator(kind)))).toEqual([]);
    const pods = objects
      .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
      .map((each) => each['spec'].template.spec);
    for (const pod of pods) {
      expect(pod).toMatchObject({
        imagePullSecrets: [{ name: 'registry' }],
        nodeSelector: { 'kubernetes.io/arch': 'amd64' },
        tolerations: [{ key: 'trading', operator: 'Exists' }],
        priorityClassName: 'trading',
      });
      for (const { image } of [...(pod.initContainers ?? []), ...pod.containers])
        expect(image).toBe('registry.example/tidemark:9.9.9');
    }
    const [job, service] = [pods.find((pod) => pod.initContainers), pods.find((pod) => !pod.initContainers)];
    expect(job.initContainers[0].args).toEqual(['migrate', '--shards', '64']);
    const names = (container: { readonly env: readonly { readonly name: string }[] }) =>
      container.env.map(({ name }) => name);
    expect(names(job.containers[0])).toEqual(expect.arrayContaining(['KAFKA_SASL_USERNAME', 'TIDEMARK_TOPIC_PREFIX']));
    expect(names(job.containers[0]).filter((name) => name.startsWith('PLATFORM_'))).toEqual([]);
    expect(service.containers[0].env).toContainEqual({
      name: 'KAFKA_SASL_PASSWORD_FILE',
      value: '/etc/tidemark/kafka-password',
    });
  });

  it('reads the secrets of the venues that it follows: with the example of Alpaca that of Alpaca alone', () => {
    const example = parse(readFileSync('kubernetes/values-alpaca.yaml', 'utf8'));
    const filesOf = (values: object) => {
      const service = rendered(values).get('Deployment tidemark');
      const env: { readonly name: string; readonly value: string }[] =
        service?.['spec'].template.spec.containers[0].env ?? [];
      return env.flatMap(({ name, value }) => (name.endsWith('_FILE') ? [`${name}=${basename(value)}`] : []));
    };
    const [database, platform] = ['DATABASE_URL_FILE=database-url', 'PLATFORM_CLIENT_SECRET_FILE=platform-secret'];
    const alpaca = 'ALPACA_SECRET_KEY_FILE=alpaca-secret';
    expect(filesOf({})).toEqual([database, platform]);
    expect(filesOf(example)).toEqual([database, alpaca]);
    const both = { ...example, settings: { ...example.settings, VENUES: 'platform, alpaca' } };
    expect(filesOf(both)).toEqual([database, platform, alpaca]);
    expect(rendered(example).get('ConfigMap tidemark-settings')?.['data']).toMatchObject(example.settings);
    expect(typeErrors([...rendered(example).values()])).toEqual([]);
  });

  it('has the rules and dashboards of grafana/, for the operator and for the sidecar', () => {
    const objects = rendered(fullValues);
    for (const name of ['alerts', 'recording'])
      expect(objects.get(`PrometheusRule tidemark-${name}`)).toMatchObject({
        metadata: { labels: { release: 'prometheus' } },
        spec: parse(readFileSync(`grafana/prometheus/rules/${name}.yml`, 'utf8')),
      });
    // As a job of this name the pods are found by each rule and dashboard.
    expect(objects.get('PodMonitor tidemark')?.['spec']).toMatchObject({
      jobLabel: 'app.kubernetes.io/name',
      selector: { matchLabels: { 'app.kubernetes.io/name': 'tidemark' } },
      podMetricsEndpoints: [{ port: 'admin', filterRunning: true }],
    });
    const files = globSync('grafana/dashboards/**/*.json');
    expect(files.length).toBeGreaterThan(30);
    for (const file of files) {
      const map = objects.get(`ConfigMap tidemark-dashboard-${basename(file, '.json').toLowerCase()}`);
      expect(map?.['data'], file).toEqual({ [basename(file)]: readFileSync(file, 'utf8') });
    }
  });

  const refusal = (...set: readonly string[]) => {
    const { status, said } = run(join(bin, 'helm'), [
      ...['template', 'tidemark', chart, '--kube-version', '1.34'],
      ...set.flatMap((each) => ['--set-string', each]),
    ]);
    return status === 0 ? undefined : said;
  };

  it('refuses a value that it does not have, by its name', () => {
    expect(refusal('replicaCount=3')).toContain('replicaCount');
  });

  describe('issue: A misspelt setting passed the chart, and each pod then refused to start.', () => {
    it.each([
      ['settings.TIDEMARK_COMANDS=on', 'TIDEMARK_COMANDS'],
      ['settings.PLATFORM_ACOUNTS=A-1', 'PLATFORM_ACOUNTS'],
      ['secretFiles.KAFKA_SASL_PASWORD=kafka-password', 'KAFKA_SASL_PASWORD'],
    ])('the chart refuses %s by its name', (set, name) => {
      expect(refusal(set)).toContain(name);
    });

    it('takes every setting, and variables of Node', () => {
      expect(refusal('settings.TIDEMARK_COMMANDS=on', 'settings.NODE_OPTIONS=--use-system-ca')).toBeUndefined();
      expect(refusal('secretFiles.TIDEMARK_ENCRYPTION_KEY=key')).toBeUndefined();
    });
  });
});
