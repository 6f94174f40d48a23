import { useEffect, useMemo, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import type { HistoryDocument } from '../../contract/pipeline-answers.ts';
import { useConsole } from '../parts/console.ts';
import { LineChart } from '../parts/line-chart.tsx';
import { loadAgain } from '../parts/load-again.ts';
import { number, Table } from '../parts/table.tsx';
import { lengthText } from '../parts/time-text.tsx';
import { columnsOf, type Figure, highestOf } from '../state/pipeline-history.ts';
import { rateText } from '../state/pipeline-steps.ts';

interface LineText {
  readonly figure: Figure;
  readonly name: string;
  readonly dash?: readonly number[];
}

interface ChartText {
  readonly title: string;
  readonly valueText: (value: number) => string;
  readonly lines: readonly LineText[];
}

const charts: readonly ChartText[] = [
  { title: 'Changes a second', valueText: rateText, lines: [{ figure: 'updatesPerSecond', name: 'stored' }] },
  {
    title: 'Delay from the socket to Kafka',
    valueText: lengthText,
    lines: [
      { figure: 'p50Ms', name: 'half of the updates' },
      { figure: 'p99Ms', name: '99 of 100', dash: [6, 3] },
    ],
  },
  {
    title: 'Longest wait at each step',
    valueText: lengthText,
    lines: [
      { figure: 'ingestAgeMs', name: 'to be stored' },
      { figure: 'relayAgeMs', name: 'for order updates', dash: [6, 3] },
      { figure: 'stateAgeMs', name: 'for order state', dash: [2, 3] },
      { figure: 'resultAgeMs', name: 'for results', dash: [8, 3, 2, 3] },
    ],
  },
  {
    title: 'Age of the newest heartbeat',
    valueText: lengthText,
    lines: [{ figure: 'heartbeatAgeMs', name: 'back from Kafka' }],
  },
];

/** The lines for the last hour, and their figures as a table for those who cannot see lines. */
export function PipelineLines({ history }: { readonly history: HistoryDocument }) {
  const library = useLibrary();
  const drawn = useMemo(
    () =>
      charts.map((chart) => ({
        ...chart,
        columns: columnsOf(
          history,
          chart.lines.map(({ figure }) => figure),
        ),
      })),
    [history],
  );
  return (
    <>
      {library === 'failed' && (
        <p role="alert">
          The lines could not be drawn. <a href={location.href}>Load the page again</a>
        </p>
      )}
      <div class="charts">
        {drawn.map((chart) => (
          <LineChart key={chart.title} Plot={library === 'failed' ? undefined : library} {...chart} />
        ))}
      </div>
      <details class="figures">
        <summary>Figures as a table</summary>
        <div class="panel">
          <Table label="Figures of the last hour" head={['Figure', number('Newest'), number('Highest of the hour')]}>
            {charts.flatMap(({ title, valueText, lines }) =>
              lines.map((line) => figureRow(title, line, valueText, history)),
            )}
          </Table>
        </div>
      </details>
    </>
  );
}

/** Fetched by this screen alone: it is a third as large as the whole page. */
function useLibrary(): typeof uPlot | 'failed' | undefined {
  const { ports } = useConsole();
  const [library, setLibrary] = useState<{ readonly default: typeof uPlot } | 'failed'>();
  useEffect(() => {
    loadAgain(ports, () => import('uplot')).then(setLibrary, () => setLibrary('failed'));
  }, []);
  return typeof library === 'object' ? library.default : library;
}

function figureRow(
  title: string,
  { figure, name }: LineText,
  valueText: (value: number) => string,
  history: HistoryDocument,
) {
  const text = (value: number | null | undefined) => (value === null || value === undefined ? '–' : valueText(value));
  return (
    <tr key={figure}>
      <td>
        {title}, {name}
      </td>
      <td class="number">{text(history.samples.at(-1)?.[figure])}</td>
      <td class="number">{text(highestOf(history, figure))}</td>
    </tr>
  );
}
