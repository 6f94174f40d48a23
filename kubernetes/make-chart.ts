/**
 * `npm run chart`: makes the Helm chart in `build/chart`, or in the folder that is named. Its
 * templates are the manifests beside this file with values in the places below, so both ways to
 * install have the same objects. Dashboards and rules come from grafana/.
 */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { ourPrefixes } from '../src/config/check-names.ts';
import { knownNames, secretNames } from '../src/config/load-config.ts';

const here = import.meta.dirname;
const root = resolve(here, '..');

/** A text of a manifest that is there once or more, and the text of its template. */
type Place = readonly [text: string, template: string];

const image: Place = [
  'image: tidemark\n',
  'image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}\n',
];
/** The fields of pods that a cluster may ask for, and that no manifest has. */
const ofCluster = ['imagePullSecrets', 'nodeSelector', 'tolerations', 'affinity', 'priorityClassName'];
const podFields = ofCluster
  .map((field) => `      {{- with .Values.${field} }}\n      ${field}: {{ toJson . }}\n      {{- end }}\n`)
  .join('');

const places: Readonly<Record<string, readonly Place[]>> = {
  'service/deployment.yaml': [
    image,
    [
      '      labels:\n        app.kubernetes.io/name: tidemark\n    spec:\n',
      `      labels:\n        app.kubernetes.io/name: tidemark\n      annotations:\n        # A change of the settings is rolled out as a release is.\n        tidemark/settings: {{ .Values.settings | toJson | sha256sum }}\n    spec:\n${podFields}`,
    ],
    ['secretName: tidemark\n', 'secretName: {{ .Values.secret }}\n'],
    [
      '            - name: PLATFORM_CLIENT_SECRET_FILE\n              value: /etc/tidemark/platform-secret\n',
      '            {{- if has "platform" (.Values.settings.VENUES | default "platform" | nospace | splitList ",") }}\n            - name: PLATFORM_CLIENT_SECRET_FILE\n              value: /etc/tidemark/platform-secret\n            {{- end }}\n            {{- range $setting, $file := .Values.secretFiles }}\n            - name: {{ $setting }}_FILE\n              value: /etc/tidemark/{{ $file }}\n            {{- end }}\n',
    ],
    [
      '              cpu: 500m\n              memory: 768Mi\n',
      '              {{- toYaml .Values.requests | nindent 14 }}\n',
    ],
  ],
  'service/autoscaler.yaml': [
    ['minReplicas: 2\n', 'minReplicas: {{ .Values.replicas.min }}\n'],
    ['maxReplicas: 8\n', 'maxReplicas: {{ .Values.replicas.max }}\n'],
  ],
  'service/network-policy.yaml': [
    ['kubernetes.io/metadata.name: monitoring\n', 'kubernetes.io/metadata.name: {{ .Values.monitoring.namespace }}\n'],
  ],
  'service/disruption-budget.yaml': [],
  'service/service.yaml': [],
  'migrate/job.yaml': [
    image,
    [
      '  name: tidemark-migrate\nspec:\n',
      '  name: tidemark-migrate\n  annotations:\n    helm.sh/hook: pre-install,pre-upgrade\n    helm.sh/hook-delete-policy: before-hook-creation\nspec:\n',
    ],
    ['    spec:\n      restartPolicy', `    spec:\n${podFields}      restartPolicy`],
    ['args: [migrate]\n', 'args: [migrate{{ with .Values.shards }}, --shards, {{ . | quote }}{{ end }}]\n'],
    // A hook runs before the objects of the release are there.
    [
      '          envFrom:\n            - configMapRef:\n                name: tidemark-migrate\n',
      '          env:\n            {{- range $name, $value := .Values.settings }}\n            {{- if regexMatch "^(KAFKA_|TIDEMARK_TOPIC_(PREFIX|RETENTION_DAYS)$)" $name }}\n            - name: {{ $name }}\n              value: {{ $value | quote }}\n            {{- end }}\n            {{- end }}\n',
    ],
    ['secretName: tidemark-owner\n', 'secretName: {{ .Values.ownerSecret }}\n'],
  ],
};

function templateOf(file: string, of: readonly Place[]): string {
  let text = readFileSync(join(here, file), 'utf8');
  for (const [from, to] of of) {
    if (!text.includes(from))
      throw new Error(`kubernetes/${file} has no ${JSON.stringify(from)}: change the place in make-chart.ts`);
    text = text.replaceAll(from, to);
  }
  return text;
}

/** `settings.env` as values: names and texts. */
function settings(): string {
  const lines = readFileSync(join(here, 'service/settings.env'), 'utf8').trimEnd().split('\n');
  const value = (line: string) => line.replace(/^(\w+)=(.*)$/, (_, name, text) => `${name}: ${JSON.stringify(text)}`);
  return ['settings:', ...lines.map((line) => `  ${value(line)}`), ''].join('\n');
}

/**
 * The schema of the values, with the names of settings: a name of ours that is no setting is
 * refused by Helm, before the pods refuse it or go on without it. A setting of another program
 * (`NODE_OPTIONS`) passes.
 */
function schemaWithNames(text: string): string {
  const schema = JSON.parse(text);
  // Draft 07 ignores what stands beside a `$ref`.
  const named = (names: object) => ({ ...schema.definitions.texts, propertyNames: names });
  schema.properties.settings = named({ not: { pattern: ourPrefixes.source, not: { enum: knownNames } } });
  schema.properties.secretFiles = named({ enum: secretNames });
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

export function makeChart(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(here, 'chart'), folder, { recursive: true });
  for (const [file, of] of Object.entries(places))
    writeFileSync(join(folder, 'templates', basename(file)), templateOf(file, of));
  const values = join(folder, 'values.yaml');
  writeFileSync(values, `${readFileSync(values, 'utf8')}\n${settings()}`);
  const schema = join(folder, 'values.schema.json');
  writeFileSync(schema, schemaWithNames(readFileSync(schema, 'utf8')));
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  writeFileSync(
    join(folder, 'Chart.yaml'),
    `${readFileSync(join(folder, 'Chart.yaml'), 'utf8')}version: ${version}\nappVersion: ${version}\n`,
  );
  for (const part of ['dashboards', 'prometheus/rules'])
    cpSync(join(root, 'grafana', part), join(folder, basename(part)), { recursive: true });
}

if (process.argv[1] === import.meta.filename) makeChart(resolve(process.argv[2] ?? join(root, 'build/chart')));
