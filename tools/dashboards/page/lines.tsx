import { dateTime, getTimeZone } from '@grafana/data';
import { TimeSeries } from '@grafana/ui';
import type { DrawnDashboard } from '../read-dashboard.ts';
import { framesOf, type ShownPanel, type Theme } from './frames.tsx';

interface LinesProps {
  readonly panel: ShownPanel;
  readonly time: DrawnDashboard['time'];
  readonly theme: Theme;
  readonly width: number;
  readonly height: number;
}

/** A `timeseries` panel: its lines with axes, limits and legend. */
export function Lines({ panel, time, theme, width, height }: LinesProps) {
  const frames = framesOf(panel, time.step, theme);
  if (frames.length === 0) return <p className="no-data">No data</p>;
  const [from, to] = [dateTime(time.from), dateTime(time.to)];
  return (
    <TimeSeries
      frames={frames}
      timeRange={{ from, to, raw: { from, to } }}
      timeZone={getTimeZone()}
      legend={{ showLegend: true, ...panel.options.legend }}
      {...{ width, height, theme }}
    />
  );
}
