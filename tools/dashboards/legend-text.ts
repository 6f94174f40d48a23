/**
 * The name of a line as Grafana makes it of `legendFormat`. A label
 * that the line does not have leaves nothing.
 */
export function legendText(format: string, labels: Readonly<Record<string, string>>): string {
  return format.replaceAll(/\{\{\s*(.+?)\s*\}\}/g, (_, name: string) => labels[name] ?? '');
}
