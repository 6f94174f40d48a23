/** One series of a scrape. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/**
 * The series of a scrape in Prometheus' text format 0.0.4. Comments and lines of another shape are
 * passed over. The label `outcome` of earlier builds is `result`: they are measured too.
 */
export function parseSamples(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const row of text.split('\n')) {
    const match = row.startsWith('#') ? null : line.exec(row);
    if (match === null) continue;
    const labels: Record<string, string> = {};
    for (const [, name = '', value = ''] of (match[2] ?? '').matchAll(label))
      labels[name === 'outcome' ? 'result' : name] = value;
    samples.push({ name: match[1] ?? '', labels, value: Number((match[3] ?? '').replace('Inf', 'Infinity')) });
  }
  return samples;
}

/** The sum of the series of that name with all of those labels; 0 when there is none. */
export function sumOf(samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>> = {}): number {
  const wanted = Object.entries(labels);
  let sum = 0;
  for (const sample of samples) {
    if (sample.name === name && wanted.every(([key, value]) => sample.labels[key] === value)) sum += sample.value;
  }
  return sum;
}
