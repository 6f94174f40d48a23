/** What we read of a V8 CPU profile (`node --cpu-prof`). */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
    readonly children?: readonly number[];
  }[];
  /** Microseconds of the machine's monotonic clock. */
  readonly startTime: number;
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

/**
 * The work of the service, by the code that does it. The first that matches the nearest frame wins.
 * Folders of builds before src/ had its rooms are named beside those of today, for `--vs`.
 */
const parts: readonly (readonly [part: string, url: RegExp])[] = [
  ['websocket', /node_modules\/ws\/|(sources|connectors)\/(ws-socket|connection)\.ts/],
  [
    'parse and decode',
    /(sources|connectors|platform)\/(decode|describe)[\w-]*\.ts|venue\/[\w-]+\.ts|\/platform\/(parse-json|wire\/)/,
  ],
  ['audits', /(sources|connectors)\/(audit|row-reader|account-reader|absent-orders|order-looks|read-progress)\.ts/],
  ['connectors', /src\/(service\/sources|connectors)\//],
  ['encode', /domain\/encode-/],
  ['reduce', /src\/domain\//],
  ['statement', /src\/store\/|node_modules\/(pg|pg-[\w-]+|postgres-[\w-]+)\//],
  ['kafkajs', /node_modules\/kafkajs\/|(log|publish)\/kafkajs\//],
  ['send to the log topic', /(log|publish)\/(log-publisher|publish-sends)\.ts/],
  ['send to the state topic', /(log|publish)\/(state-writer|transactional-publisher|newest-[\w-]+)\.ts/],
  ['relay', /src\/(service\/log|publish)\//],
  ['ingest', /src\/(service\/orders|ingest)\//],
  ['metrics', /node_modules\/prom-client\/|src\/observability\//],
];

export interface ProfileWindow {
  readonly fromMicros: number;
  readonly untilMicros: number;
}

const noTime = { total: 0, longest: 0 };

/** A sample further apart than this waited for a core, at least in part. */
const apartMicros = 2000;

/**
 * Microseconds of each part within the window, and the longest without another one in between and
 * without waits for a core. What V8 itself names in brackets (idle, garbage collector, program) is
 * under that name.
 */
export function shareTime(profile: CpuProfile, window: ProfileWindow): Map<string, typeof noTime> {
  const partOfNode = nameNodes(profile);
  const shares = new Map<string, typeof noTime>();
  let at = profile.startTime;
  let stretch = { part: '', micros: 0 };
  for (const [i, id] of profile.samples.entries()) {
    const micros = profile.timeDeltas[i] ?? 0;
    at += micros;
    if (at < window.fromMicros || at > window.untilMicros) continue;
    const part = partOfNode.get(id) ?? 'other';
    const worked = Math.min(micros, apartMicros);
    stretch = { part, micros: part === stretch.part ? stretch.micros + worked : worked };
    const { total, longest } = shares.get(part) ?? noTime;
    shares.set(part, { total: total + micros, longest: Math.max(longest, stretch.micros) });
  }
  return shares;
}

/**
 * A node without a part of its own (Node's internals, the language's
 * own functions) works for whoever called it.
 */
function nameNodes(profile: CpuProfile): Map<number, string> {
  const names = new Map<number, string>();
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const visit = (id: number, inherited: string): void => {
    const node = nodes.get(id);
    if (node === undefined) return;
    const { functionName, url } = node.callFrame;
    const own = functionName.startsWith('(') && functionName !== '(root)' ? functionName.slice(1, -1) : partOf(url);
    const name = own ?? inherited;
    names.set(id, name);
    for (const child of node.children ?? []) visit(child, name);
  };
  const root = profile.nodes[0];
  if (root !== undefined) visit(root.id, 'other');
  return names;
}

function partOf(url: string): string | undefined {
  return parts.find(([, pattern]) => pattern.test(url))?.[0];
}
