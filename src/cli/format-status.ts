import { age } from './age.ts';
import { formatTable } from './format-table.ts';

export interface StatusDocument {
  /** The body of `/readyz?verbose`. */
  readonly health: unknown;
  /** The body of `/status`. */
  readonly status: unknown;
}

/**
 * The two documents for people: single values first, then a block for each object and a table for each list of objects. It knows no field
 * by name, so that whatever the service learns to tell is shown by an older program as well; instants get their age.
 */
export function formatStatus({ health, status }: StatusDocument, nowMs: number): string {
  const verdict = isRecord(health) ? String(health['status']) : 'unknown';
  const checks = isRecord(health) && Array.isArray(health['checks']) ? health['checks'].filter(isRecord) : [];
  const lines = checks.map((check) => [
    check['ok'] === true ? 'ok' : String(check['effect']),
    String(check['name']),
    String(check['detail']),
  ]);
  const body = isRecord(status) ? blocks(status, '', nowMs) : [];
  return [`${verdict}\n${formatTable(lines)}`, ...body].join('\n');
}

function blocks(record: Readonly<Record<string, unknown>>, path: string, nowMs: number): string[] {
  const entries = Object.entries(record);
  const plain = entries.filter(([, value]) => !isRecord(value) && !isTable(value));
  const own = plain.length === 0 ? [] : [titled(path, formatTable(plain.map(([name, value]) => [name, shown(value, nowMs)])))];
  const nested = entries.flatMap(([name, value]) => {
    const title = path === '' ? name : `${path} ${name}`;
    if (isRecord(value)) return blocks(value, title, nowMs);
    return isTable(value) ? [titled(title, table(value, nowMs))] : [];
  });
  return [...own, ...nested];
}

function table(rows: readonly Readonly<Record<string, unknown>>[], nowMs: number): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cells = rows.map((row) => columns.map((column) => shown(row[column], nowMs)));
  return formatTable([columns.map((column) => column.toUpperCase()), ...cells]);
}

function titled(title: string, block: string): string {
  return title === '' ? block : `${title}\n${block.replace(/^(?=.)/gm, '  ')}`;
}

function shown(value: unknown, nowMs: number): string {
  if (value === undefined || value === null) return '-';
  if (typeof value === 'string') return withAge(value, nowMs);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function withAge(text: string, nowMs: number): string {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text)) return text;
  const seconds = Math.round((nowMs - Date.parse(text)) / 1000);
  return seconds < 0 ? text : `${text} (${age(seconds)} ago)`;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) && value.length > 0 && value.every(isRecord);
}
