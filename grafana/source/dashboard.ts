import { isFigure, type Panel, panelJson } from './panel.ts';

interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface Dashboard {
  /** Fixed: links and bookmarks hold on to it. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly rows: readonly Row[];
}

const columns = 24;

/**
 * A dashboard as Grafana provisions it. Ids and places come from the order, so that the same
 * description always gives the same text.
 */
export function dashboardJson({ uid, title, description, rows }: Dashboard): Record<string, unknown> {
  const panels: Record<string, unknown>[] = [];
  let top = 0;
  for (const row of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { h: 1, w: columns, x: 0, y: top },
      panels: [],
    });
    top += 1;
    for (const { panel, place } of placed(row.panels, top)) {
      panels.push({ id: panels.length + 1, ...panelJson(panel), gridPos: place });
      top = Math.max(top, place.y + place.h);
    }
  }
  return { ...frame, uid, title, description, tags: ['tidemark'], panels };
}

interface Place {
  readonly h: number;
  readonly w: number;
  readonly x: number;
  readonly y: number;
}

/** From left to right, and down where a line is full. */
function placed(panels: readonly Panel[], from: number): { panel: Panel; place: Place }[] {
  let [x, y, lineHeight] = [0, from, 0];
  return panels.map((panel) => {
    const w = panel.width ?? (isFigure(panel.kind) ? 3 : 8);
    const h = isFigure(panel.kind) ? 4 : 8;
    if (x + w > columns) [x, y, lineHeight] = [0, y + lineHeight, 0];
    const place = { h, w, x, y };
    x += w;
    lineHeight = Math.max(lineHeight, h);
    return { panel, place };
  });
}

const frame = {
  schemaVersion: 39,
  version: 1,
  editable: false,
  graphTooltip: 1,
  refresh: '10s',
  time: { from: 'now-1h', to: 'now' },
  timezone: 'browser',
  links: [
    {
      type: 'dashboards',
      title: 'Tidemark',
      tags: ['tidemark'],
      asDropdown: false,
      includeVars: true,
      keepTime: true,
      targetBlank: false,
      icon: 'external link',
      tooltip: '',
      url: '',
    },
  ],
  templating: {
    list: [
      {
        name: 'datasource',
        type: 'datasource',
        label: 'Prometheus',
        query: 'prometheus',
        hide: 0,
        refresh: 1,
        regex: '',
        current: {},
      },
      {
        name: 'job',
        type: 'query',
        label: 'Lane',
        datasource: { type: 'prometheus', uid: '$datasource' },
        query: { query: 'label_values(tidemark_build_info, job)', refId: 'job' },
        refresh: 2,
        sort: 1,
        hide: 0,
        includeAll: true,
        multi: true,
        allValue: 'tidemark.*',
        current: { text: 'All', value: '$__all' },
      },
    ],
  },
  annotations: {
    list: [
      {
        name: 'Restarts',
        enable: true,
        iconColor: 'purple',
        datasource: { type: 'prometheus', uid: '$datasource' },
        expr: 'changes(process_start_time_seconds{job=~"$job"}[$__rate_interval]) > 0',
        titleFormat: 'restart',
        textFormat: '{{instance}}',
      },
    ],
  },
};
