// The arrows between the rooms of src/: what each may import besides itself. docs/architecture.md gives the reasons.
const ground = ['domain', 'runtime', 'observability', 'schema', 'config'];
const mayImport = {
  domain: [],
  runtime: [],
  observability: ['runtime'],
  schema: ['domain'],
  config: ['domain', 'runtime'],
  store: ['domain', 'schema', 'runtime', 'observability'],
  platform: ['domain', 'runtime', 'observability'],
  sandbox: ['domain', 'runtime', 'observability', 'platform/wire'],
  devstack: ['runtime', 'observability'],
  publish: [...ground, 'store'],
  ingest: [...ground, 'store'],
  connectors: [...ground, 'ingest', 'platform', 'store'],
  commands: [...ground, 'connectors', 'platform', 'store'],
  http: [...ground, 'commands', 'store'],
};

const rooms = Object.entries(mayImport).map(([room, others]) => ({
  name: `${room}-imports`,
  severity: 'error',
  from: { path: `^src/${room}/` },
  to: { path: '^src/', pathNot: `^src/(${[room, ...others].join('|')})/` },
}));

module.exports = {
  forbidden: [
    ...rooms,
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'only-the-command-line-imports-itself',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(cli/|main\\.ts$)' },
      to: { path: '^src/(cli/|main\\.ts$)' },
    },
    {
      name: 'only-the-command-line-imports-the-service',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(cli|service)/' },
      to: { path: '^src/service/' },
    },
    {
      name: 'domain-is-pure',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { dependencyTypes: ['core', 'npm', 'npm-dev'], pathNot: 'decimal\\.js' },
    },
    {
      // The browser gets these files as they are: of other rooms they may take types only, and packages only if http/console serves them.
      name: 'the-console-imports-types-only',
      severity: 'error',
      from: { path: '^src/console/' },
      to: { path: '^src/', pathNot: '^src/(console|schema)/' },
    },
    {
      name: 'the-console-takes-only-types-from-shapes',
      severity: 'error',
      from: { path: '^src/console/' },
      to: { path: '^src/schema/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'the-console-has-its-own-packages',
      severity: 'error',
      from: { path: '^src/console/' },
      to: {
        dependencyTypes: ['core', 'npm', 'npm-dev', 'npm-no-pkg'],
        pathNot: 'node_modules/(preact|htm|@preact/signals-core|oauth4webapi|uplot)/',
      },
    },
    {
      name: 'only-the-browser-runs-the-console',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/console/' },
      to: { path: '^src/console/' },
    },
    {
      // A production install (`npm ci --omit=dev`) has to run. Without testcontainers it finds no Docker engine (demo/devstack/docker.ts).
      name: 'src-imports-no-dev-package',
      severity: 'error',
      from: { path: '^src/' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        dependencyTypesNot: ['type-only'],
        pathNot: 'testcontainers',
      },
    },
    { name: 'src-never-imports-tests', severity: 'error', from: { path: '^src/' }, to: { path: '^(test|bench)/' } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
