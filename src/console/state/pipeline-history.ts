import type { HistoryDocument, HistorySample } from '../../contract/pipeline-answers.ts';
import { Polled } from './polled.ts';
import type { Answer, RestDeps } from './rest.ts';

const hourMs = 3_600_000;

/** The samples of the last hour: read once, then only new ones. */
export function pipelineHistory({ ports, rest }: RestDeps): Polled<HistoryDocument> {
  let known: HistoryDocument = { everyMs: 10_000, samples: [] };
  const read = async (signal: AbortSignal): Promise<Answer<HistoryDocument>> => {
    const answer = await rest.get<HistoryDocument>('/v1/history', { since: known.samples.at(-1)?.at }, signal);
    if (answer.kind !== 'ok') return answer;
    known = { everyMs: answer.body.everyMs, samples: lastHour([...known.samples, ...answer.body.samples]) };
    return { ...answer, body: known };
  };
  return new Polled<HistoryDocument>(ports, { read, everyMs: (value) => value?.everyMs ?? 10_000 });
}

function lastHour(samples: readonly HistorySample[]): HistorySample[] {
  const newestMs = Date.parse(samples.at(-1)?.at ?? '');
  return samples.filter(({ at }) => newestMs - Date.parse(at) <= hourMs);
}

/** Names of figures in a sample. */
export type Figure = Exclude<keyof HistorySample, 'at'>;

type LineColumns = [times: number[], ...values: (number | null)[][]];

/**
 * Columns for lines: times in seconds, then one column for each figure. Null: the figure was not
 * there, or the service did not sample.
 */
export function columnsOf({ everyMs, samples }: HistoryDocument, figures: readonly Figure[]): LineColumns {
  const times: number[] = [];
  const columns: (number | null)[][] = figures.map(() => []);
  for (const sample of samples) {
    const at = Date.parse(sample.at) / 1000;
    const last = times.at(-1);
    // A line over a gap would show invented figures.
    if (last !== undefined && (at - last) * 1000 > 3 * everyMs) {
      times.push(last + everyMs / 1000);
      for (const column of columns) column.push(null);
    }
    times.push(at);
    for (const [index, figure] of figures.entries()) columns[index]?.push(sample[figure]);
  }
  return [times, ...columns];
}

/** The highest value in the hour; undefined: there is none. */
export function highestOf({ samples }: HistoryDocument, figure: Figure): number | undefined {
  const values = samples.map((sample) => sample[figure]).filter((value) => value !== null);
  return values.length === 0 ? undefined : Math.max(...values);
}
