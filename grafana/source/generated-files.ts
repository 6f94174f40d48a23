import type { Alert } from './alert.ts';
import { commandsDashboard } from './commands.ts';
import { type Dashboard, dashboardJson } from './dashboard.ts';
import { dataAlerts } from './data-alerts.ts';
import { dataPath } from './data-path.ts';
import { fleet } from './fleet.ts';
import { overview } from './overview.ts';
import { recordingRules } from './recording-rules.ts';
import { resources } from './resources.ts';
import { alertRulesYaml, recordingRulesYaml } from './rules-yaml.ts';
import { runbookDashboardJson } from './runbook-dashboard.ts';
import { serviceAlerts } from './service-alerts.ts';
import { sourceAlerts } from './source-alerts.ts';

export const dashboards: readonly Dashboard[] = [overview, dataPath, commandsDashboard, fleet, resources];
const alertGroups = { sources: sourceAlerts, data: dataAlerts, service: serviceAlerts };
export const alerts: readonly Alert[] = Object.values(alertGroups).flat();

/** Where the runbook of an alert is, from the root of the repository. */
export function runbookFile(alert: string): string {
  return `docs/runbooks/${alert}.md`;
}

/**
 * Every generated file, by its path from the root of the repository. `readRunbook` gives the text
 * of a runbook page by its path.
 */
export function generatedFiles(readRunbook: (file: string) => string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const dashboard of dashboards)
    files.set(`grafana/dashboards/${dashboard.uid}.json`, json(dashboardJson(dashboard)));
  for (const { name } of alerts)
    files.set(
      `grafana/dashboards/runbooks/${name}.json`,
      json(runbookDashboardJson(name, readRunbook(runbookFile(name)))),
    );
  files.set('grafana/prometheus/rules/recording.yml', recordingRulesYaml('tidemark', recordingRules));
  files.set('grafana/prometheus/rules/alerts.yml', alertRulesYaml(alertGroups));
  return files;
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
