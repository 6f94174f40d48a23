import { type Alert, runbookUid } from './alert.ts';
import type { RecordingRule } from './recording-rules.ts';

const header = '# Made by `npm run dashboards` from grafana/source/; change it there.\n';

/** A file of recording rules, as Prometheus reads it. */
export function recordingRulesYaml(group: string, rules: readonly RecordingRule[]): string {
  const body = rules.map(({ record, expr }) => `      - record: ${record}\n        expr: ${block(expr)}\n`);
  return `${header}groups:\n  - name: ${group}\n    rules:\n${body.join('')}`;
}

/** A file of alerting rules, a group for each entry. */
export function alertRulesYaml(groups: Readonly<Record<string, readonly Alert[]>>): string {
  const text = Object.entries(groups).map(
    ([name, alerts]) => `  - name: ${name}\n    rules:\n${alerts.map(alertYaml).join('')}`,
  );
  return `${header}groups:\n${text.join('')}`;
}

function alertYaml(alert: Alert): string {
  const lines = [
    `      - alert: ${alert.name}`,
    `        expr: ${block(alert.expr)}`,
    ...(alert.for === undefined ? [] : [`        for: ${alert.for}`]),
    '        labels:',
    `          severity: ${alert.severity}`,
    '        annotations:',
    `          summary: ${quoted(alert.summary)}`,
    `          description: ${quoted(alert.description)}`,
    `          runbook_url: ${quoted(`{{ $externalLabels.grafana }}/d/${runbookUid(alert.name)}`)}`,
  ];
  return `${lines.join('\n')}\n`;
}

/** A literal block: PromQL is full of what YAML would take for its own. */
function block(expr: string): string {
  return `|-\n${expr.replaceAll(/^/gm, '          ')}`;
}

/** Single quotes know one escape only. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
