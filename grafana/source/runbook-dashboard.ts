import { runbookUid } from './alert.ts';

/**
 * A runbook as a dashboard of one text, so that the link of an alert works without any other host.
 * `markdown` begins with the alert's name as its heading.
 */
export function runbookDashboardJson(alert: string, markdown: string): Record<string, unknown> {
  return {
    uid: runbookUid(alert),
    title: `Runbook: ${alert}`,
    description: `What to do when ${alert} fires`,
    tags: ['tidemark-runbook'],
    schemaVersion: 39,
    version: 1,
    editable: false,
    links: [],
    templating: { list: [] },
    annotations: { list: [] },
    panels: [
      {
        id: 1,
        type: 'text',
        title: '',
        gridPos: { h: 24, w: 24, x: 0, y: 0 },
        options: { mode: 'markdown', content: markdown },
      },
    ],
  };
}
