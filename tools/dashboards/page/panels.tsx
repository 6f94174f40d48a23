import { PanelChrome } from '@grafana/ui';
import type { DrawnDashboard } from '../read-dashboard.ts';
import { AlertList } from './alert-list.tsx';
import { Figure } from './figure.tsx';
import type { ShownPanel, Theme } from './frames.tsx';
import { Lines } from './lines.tsx';

// Grafana's grid: 24 columns over the whole width, rows of 30 px, and 8 px between panels.
const columns = 24;
const rowHeight = 30;
const gap = 8;
const pageWidth = 1408;
const columnWidth = (pageWidth - gap * (columns - 1)) / columns;

interface PanelsProps {
  readonly dashboard: DrawnDashboard;
  readonly theme: Theme;
}

/** All panels, each at its place. */
export function Panels({ dashboard, theme }: PanelsProps) {
  const panels = dashboard.panels as readonly ShownPanel[];
  const bottom = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h));
  return (
    <main style={{ position: 'relative', width: pageWidth, height: bottom * (rowHeight + gap) }}>
      {panels.map((panel) => {
        const { x, y, w, h } = panel.gridPos;
        const [width, height] = [w * (columnWidth + gap) - gap, h * (rowHeight + gap) - gap];
        const place = { left: x * (columnWidth + gap), top: y * (rowHeight + gap), width, height };
        return (
          <div key={panel.id} style={{ position: 'absolute', ...place }}>
            {panel.type === 'row' ? <h3 className="row-title">{panel.title}</h3> : null}
            {panel.type === 'row' ? null : <Panel {...{ panel, dashboard, theme, width, height }} />}
          </div>
        );
      })}
    </main>
  );
}

interface PanelProps extends PanelsProps {
  readonly panel: ShownPanel;
  readonly width: number;
  readonly height: number;
}

function Panel({ panel, dashboard: { time, alerts }, theme, width, height }: PanelProps) {
  return (
    <PanelChrome title={panel.title} description={panel.description} {...{ width, height }}>
      {(innerWidth: number, innerHeight: number) => {
        const size = { width: innerWidth, height: innerHeight };
        if (panel.type === 'stat') return <Figure {...{ panel, theme }} {...size} />;
        if (panel.type === 'timeseries') return <Lines {...{ panel, time, theme }} {...size} />;
        if (panel.type === 'alertlist') return <AlertList alerts={alerts} />;
        throw new Error(`no drawing for a panel of type ${panel.type}`);
      }}
    </PanelChrome>
  );
}
