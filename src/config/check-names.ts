import type { ConfigFault } from './config.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

interface NameFindings {
  readonly faults: readonly ConfigFault[];
  /** Whole sentences. */
  readonly warnings: readonly string[];
}

const ourPrefixes = /^(TIDEMARK|PLATFORM|KAFKA|DATABASE)_/;
/** The exporter of traces reads these by itself. */
const readByExporter = /^OTEL_EXPORTER_OTLP_(TRACES_)?(CERTIFICATE|CLIENT_CERTIFICATE|CLIENT_KEY|COMPRESSION)$/;

/**
 * Finds names that belong to no option. A name that is one or two letters away from an option which is not set is a typing error, and so a fault: the program
 * would run without the intended setting (`PLATFORM_ACOUNTS` would follow every account). Any other unknown `TIDEMARK_*` only causes a warning,
 * since it may belong to a newer version that was rolled back, and so does an `OTEL_*` that is not read here; unknown names with the other prefixes belong to other programs.
 */
export function checkNames(env: Environment, known: readonly string[]): NameFindings {
  const faults: ConfigFault[] = [];
  const warnings: string[] = [];
  const unknown = Object.keys(env).filter((name) => env[name] !== undefined && ourPrefixes.test(name) && !known.includes(name));
  for (const name of unknown.sort()) {
    const near = nearest(name, known);
    if (near !== undefined && near.distance <= 2 && env[near.name] === undefined) {
      faults.push({ name, problem: `is not an option; did you mean ${near.name}?` });
    } else if (name.startsWith('TIDEMARK_')) {
      const hint =
        near !== undefined && near.distance <= name.replace(ourPrefixes, '').length / 2 ? `; did you mean ${near.name}?` : '';
      warnings.push(`${name} is not an option and has no effect${hint}`);
    }
  }
  for (const name of Object.keys(env).sort()) {
    if (env[name] === undefined || !name.startsWith('OTEL_') || known.includes(name) || readByExporter.test(name)) continue;
    warnings.push(`${name} is not read here and has no effect: docs/tracing.md has the settings of traces`);
  }
  return { faults, warnings };
}

function nearest(name: string, known: readonly string[]): { name: string; distance: number } | undefined {
  let best: { name: string; distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(name, candidate);
    if (best === undefined || distance < best.distance) best = { name: candidate, distance };
  }
  return best;
}

/** Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b` (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const substituted = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let best = Math.min(substituted, at(last, j) + 1, at(row, j - 1) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) best = Math.min(best, at(beforeLast, j - 2) + 1);
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
