// The arrows between the rooms of src/: what each may import besides itself. docs/architecture.md gives the reasons.
const ground = ['domain', 'runtime', 'observability', 'contract', 'config'];
const mayImport = {
  domain: [],
  runtime: [],
  observability: ['domain', 'runtime'],
  contract: ['domain'],
  config: ['domain', 'runtime'],
  store: ['domain', 'contract', 'runtime', 'observability'],
  venue: ['domain', 'runtime', 'observability'],
  sandbox: ['domain', 'runtime', 'observability', 'venue/platform/wire'],
  'service/log': [...ground, 'store'],
  'service/orders': [...ground, 'store'],
  'service/sources': [...ground, 'service/orders', 'venue', 'store'],
  'service/commands': [...ground, 'service/sources', 'venue', 'store'],
  'service/fleet': [...ground, 'service/(commands|sources|orders|log)', 'store'],
  'service/rest': [...ground, 'service/(commands|fleet)', 'store'],
  'service/run': [...ground, 'service', 'venue', 'store'],
  'cli/io': [...ground, 'service/log'],
  demo: [...ground, 'cli/io', 'service/(log|sources)', 'sandbox', 'store', 'venue', 'console'],
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
      to: { path: '^src/(cli/|main\\.ts$)', pathNot: '^src/cli/io/' },
    },
    {
      name: 'only-the-command-line-imports-the-assembly',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(cli|service/run)/' },
      to: { path: '^src/service/run/' },
    },
    {
      name: 'only-demo-and-command-line-import-the-terminal',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(cli/|demo/|main\\.ts$)' },
      to: { path: '^src/cli/io/' },
    },
    {
      // A venue is a folder beside the port and its check. The assembly chooses it.
      name: 'the-port-and-its-users-know-no-venue',
      severity: 'error',
      from: { path: '^src/(venue/(check/)?[^/]+\\.ts$|service/(sources|commands)/)' },
      to: { path: '^src/venue/[^/]+/', pathNot: '^src/venue/check/' },
    },
    {
      name: 'a-venue-knows-no-other',
      severity: 'error',
      from: { path: '^src/venue/([^/]+)/', pathNot: '^src/venue/check/' },
      to: { path: '^src/venue/[^/]+/', pathNot: '^src/venue/(check|$1)/' },
    },
    {
      name: 'domain-is-pure',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { dependencyTypes: ['core', 'npm', 'npm-dev'], pathNot: 'decimal\\.js' },
    },
    {
      // The page in a browser takes types, a few rules of the domain without a package, and few packages: all of it is fetched.
      name: 'the-console-imports-types-and-rules',
      severity: 'error',
      from: { path: '^src/console/' },
      to: { path: '^src/', pathNot: '^src/(console|contract)/|^src/domain/(order|streams|symbol|terms-text)\\.ts$' },
    },
    {
      name: 'the-console-takes-only-types-from-shapes',
      severity: 'error',
      from: { path: '^src/console/' },
      to: {
        path: '^src/contract/',
        pathNot: '^src/contract/(list-filters|order-path|replace-terms)\\.ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      // A browser fetches it: the shapes in zod are made from it, not the other way.
      name: 'the-filters-have-no-package',
      severity: 'error',
      from: { path: '^src/contract/(list-filters|order-path|replace-terms)\\.ts$' },
      to: { path: '.', pathNot: '^src/domain/(order|command|streams)\\.ts$' },
    },
    {
      name: 'the-console-has-its-own-packages',
      severity: 'error',
      from: { path: '^src/console/' },
      to: {
        dependencyTypes: ['core', 'npm', 'npm-dev', 'npm-no-pkg'],
        pathNot: 'node_modules/(preact|@preact/signals-core|oauth4webapi|uplot)/',
      },
    },
    {
      name: 'only-the-browser-runs-the-console',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(demo/)?console/' },
      to: { path: '^src/(demo/)?console/' },
    },
    {
      name: 'the-page-of-the-demo-takes-the-console-and-types',
      severity: 'error',
      from: { path: '^src/demo/console/' },
      to: { path: '^src/', pathNot: '^src/(demo/)?console/', dependencyTypesNot: ['type-only'] },
    },
    {
      // Its files of the other kind cost a third of a start (store/drizzle.ts).
      name: 'only-one-file-loads-drizzle',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/store/drizzle\\.ts$' },
      to: { path: 'node_modules/drizzle-orm/' },
    },
    {
      // A production install (`npm ci --omit=dev`) has to run. Without testcontainers it finds no Docker engine (demo/devstack/docker.ts), without esbuild it has no console.
      name: 'src-imports-no-dev-package',
      severity: 'error',
      from: { path: '^src/' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        dependencyTypesNot: ['type-only'],
        pathNot: 'testcontainers|esbuild',
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
