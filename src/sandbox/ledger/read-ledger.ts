import { createReadStream } from 'node:fs';
import type { Ledger } from './ledger.ts';

interface LedgerFilter {
  /** Only lines above this number. */
  readonly since: number;
  /** Only these kinds; all when undefined. */
  readonly kinds: ReadonlySet<string> | undefined;
  /** Lines at most: a page. The next begins with `since` = its last `seq`. All when undefined. */
  readonly limit?: number | undefined;
}

const head = /^\{"seq":(\d+),"at":"[^"]*","kind":"(\w+)"/;

/**
 * The ledger as text, whole lines, everything entered before the call. When segments had to be
 * dropped the first line is `{"kind":"truncated","firstSeq":n}`, so that no reader takes a part for
 * the whole.
 */
export async function* readLedger(ledger: Ledger, filter: LedgerFilter): AsyncGenerator<string> {
  await ledger.flush();
  const segments = ledger.segments.map((segment) => ({ ...segment }));
  const firstSeq = segments[0]?.firstSeq ?? 1;
  if (firstSeq > 1 && filter.since < firstSeq - 1) yield `{"kind":"truncated","firstSeq":${firstSeq}}\n`;
  let left = filter.limit ?? Number.POSITIVE_INFINITY;
  for (const [index, segment] of segments.entries()) {
    const next = segments[index + 1];
    if (segment.bytes === 0 || (next !== undefined && next.firstSeq <= filter.since + 1)) continue;
    let rest = '';
    const chunks = createReadStream(segment.path, {
      encoding: 'utf8',
      end: segment.bytes - 1,
      highWaterMark: 1024 * 1024,
    });
    for await (const chunk of chunks as AsyncIterable<string>) {
      const text = rest + chunk;
      const end = text.lastIndexOf('\n') + 1;
      rest = text.slice(end);
      const wanted = select(text.slice(0, end), filter);
      const page = upTo(wanted, left);
      left -= page.lines;
      if (page.text !== '') yield page.text;
      if (left <= 0) return;
    }
  }
}

function select(lines: string, filter: LedgerFilter): string {
  if (filter.since === 0 && filter.kinds === undefined) return lines;
  let kept = '';
  for (const line of lines.split('\n')) {
    const match = head.exec(line);
    if (match === null || Number(match[1]) <= filter.since) continue;
    if (filter.kinds === undefined || filter.kinds.has(match[2] ?? '')) kept += `${line}\n`;
  }
  return kept;
}

/** The first `limit` lines of whole lines. */
function upTo(text: string, limit: number): { readonly text: string; readonly lines: number } {
  if (limit === Number.POSITIVE_INFINITY) return { text, lines: 0 };
  let end = 0;
  let lines = 0;
  for (let next = text.indexOf('\n'); next >= 0 && lines < limit; next = text.indexOf('\n', end)) {
    end = next + 1;
    lines += 1;
  }
  return { text: text.slice(0, end), lines };
}
