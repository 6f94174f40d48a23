// The arrows between the rooms of src/: what each may import besides itself. docs/architecture.md gives the reasons.
// Port types: a room that implements another's port may import that port's types, and nothing else of it.
const ground = ['domain', 'schema', 'runtime'];
const mayImport = {
  schema: ['domain'],
  config: ['domain', 'runtime'],
  domain: [],
  runtime: [],
  observability: ['runtime'],
  platform: ['domain', 'runtime', 'observability'],
  connectors: ['domain', 'runtime', 'observability', 'platform'],
  ingest: ['domain', 'runtime', 'observability'],
  relay: ['domain', 'runtime', 'observability'],
  commands: ['domain', 'runtime', 'observability'],
  store: [...ground, 'observability'],
  kafka: [...ground, 'observability'],
  http: [...ground, 'observability', 'commands'],
  sandbox: ['domain', 'runtime', 'observability', 'platform/wire'],
  devstack: ['runtime', 'observability'],
};
/** Files that hold a port: an interface with its promises, the values that belong to it, no other code. */
const ports =
  '^src/(ingest/(order-store|lane-store)|relay/(update-log|publisher|outcome-log)|connectors/(account-registry)|platform/(token-store)|http/(order-reads|health-reads|auth/principal-store)|commands/(command-journal|commands|order-entry))\\.ts$';
const implementsPorts = ['store', 'kafka', 'http'];

const rooms = Object.entries(mayImport).map(([room, others]) => ({
  name: `${room}-imports`,
  severity: 'error',
  from: { path: `^src/${room}/` },
  to: {
    path: '^src/',
    pathNot: [`^src/(${[room, ...others].join('|')})/`, ...(implementsPorts.includes(room) ? [ports] : [])],
  },
}));

module.exports = {
  forbidden: [
    ...rooms,
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'nobody-imports-the-top',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(cli/|main\\.ts$)' },
      to: { path: '^src/(cli/|main\\.ts$)' },
    },
    {
      name: 'domain-is-pure',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { dependencyTypes: ['core', 'npm', 'npm-dev'], pathNot: 'decimal\\.js' },
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
