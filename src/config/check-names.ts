import type { ConfigFault } from './config.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

interface NameFindings {
  readonly faults: readonly ConfigFault[];
  /** Whole sentences. */
  readonly warnings: readonly string[];
}

/** Our own names, or such that look so. The Helm chart refuses them where they are no options. */
export const ourPrefixes = /^(TIDEMARK|PLATFORM|ALPACA|KAFKA|DATABASE)_/;

/** Names of builds before the first release, and those of now. */
const renamed: Readonly<Record<string, string>> = {
  TIDEMARK_CONTINUITY_INTERVAL_MS: 'TIDEMARK_WATERMARK_INTERVAL_MS',
  TIDEMARK_LEASE_EXPIRE_MS: 'TIDEMARK_LEASE_TTL_MS',
  TIDEMARK_LEASE_ACT_MS: 'TIDEMARK_LEASE_MARGIN_MS, which is the rest of TIDEMARK_LEASE_TTL_MS after the former value',
};

/** The trace exporter reads these by itself. */
const readByExporter = /^OTEL_EXPORTER_OTLP_(TRACES_)?(CERTIFICATE|CLIENT_CERTIFICATE|CLIENT_KEY|COMPRESSION)$/;

/**
 * Finds names that belong to no option. A former name is a fault. If a name is one or two
 * letters away from an option that is not set, it is a typing error, and so a fault: the
 * program would run without the intended setting (`PLATFORM_ACOUNTS` would follow every
 * account). Any other unknown `TIDEMARK_*` only causes a warning, since it may belong to a
 * newer version that was rolled back. So does an `OTEL_*` not read here. Unknown names with the
 * other prefixes may belong to other programs (`KAFKA_HEAP_OPTS`). They get a warning if they
 * look like an option, also one in another family (`KAFKA_TOPIC_PREFIX`) or one that is set as
 * well.
 */
export function checkNames(env: Environment, known: readonly string[]): NameFindings {
  const faults: ConfigFault[] = [];
  const warnings: string[] = [];
  const unknownOf = (prefix: RegExp) =>
    Object.keys(env)
      .filter((name) => env[name] !== undefined && prefix.test(name) && !known.includes(name))
      .sort();
  for (const name of unknownOf(ourPrefixes)) {
    const now = renamed[name];
    if (now !== undefined) {
      faults.push({ name, problem: `is not an option any more: it is now ${now}` });
      continue;
    }
    const near = nearest(name, known);
    if (near !== undefined && near.distance <= 2 && env[near.name] === undefined) {
      faults.push({ name, problem: `is not an option; did you mean ${near.name}?` });
      continue;
    }
    const meant = likely(name, near, known);
    if (meant !== undefined || name.startsWith('TIDEMARK_'))
      warnings.push(
        `${name} is not an option and has no effect${meant === undefined ? '' : `; did you mean ${meant}?`}`,
      );
  }
  for (const name of unknownOf(/^OTEL_/))
    if (!readByExporter.test(name))
      warnings.push(`${name} is not read here and has no effect: docs/tracing.md has the settings of traces`);
  return { faults, warnings };
}

/**
 * The option a person may have meant: the same name in another family, the longest within the name
 * (`TIDEMARK_COMMAND_ENABLED`), or one near enough.
 */
function likely(name: string, near: Near, known: readonly string[]): string | undefined {
  const own = name.replace(ourPrefixes, '');
  const elsewhere = known.find((option) => option.replace(ourPrefixes, '') === own || option === `TIDEMARK_${name}`);
  if (elsewhere !== undefined) return elsewhere;
  const within = known
    .filter(
      (option) => option.startsWith('TIDEMARK_') && name.startsWith('TIDEMARK_') && hasWords(own, option.slice(9)),
    )
    .sort((a, b) => b.length - a.length);
  if (within[0] !== undefined) return within[0];
  const most = name.startsWith('TIDEMARK_') ? own.length / 2 : Math.min(3, own.length / 3);
  return near !== undefined && near.distance <= most ? near.name : undefined;
}

/** Whether these words stand in the name in one piece, the last also in the singular. */
function hasWords(name: string, words: string): boolean {
  const inside = `_${name}_`;
  return inside.includes(`_${words}_`) || inside.includes(`_${words.replace(/S$/, '')}_`);
}

type Near = ReturnType<typeof nearest>;

function nearest(name: string, known: readonly string[]) {
  const all = known.map((candidate) => ({ name: candidate, distance: editDistance(name, candidate) }));
  return all.sort((a, b) => a.distance - b.distance).at(0);
}

/**
 * How many insertions, deletions, substitutions and swaps of neighbours turn `a` into `b` (optimal
 * string alignment).
 */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const substituted = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let best = Math.min(substituted, at(last, j) + 1, at(row, j - 1) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, at(beforeLast, j - 2) + 1);
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
