import { Command } from 'commander';
import { exitCodes, ProgramError, sentenceOf } from '../runtime/program-error.ts';
import { fetchWithin } from '../runtime/waiting.ts';
import { age, formatTable } from './format-text.ts';
import type { CliIo } from './io.ts';
import { adminAddress, adminPortFix } from './rest-client.ts';

const examples = `
Examples:
  $ tidemark status
  $ tidemark status --url http://10.0.0.7:9464
  $ tidemark status --json | jq .status.relay

Exit codes: 0 ready (or degraded), 1 not ready, 69 nothing answers.`;

const answerWithinMs = 7000;

/** Shows the state of a running service. */
export function statusCommand(io: CliIo): Command {
  return new Command('status')
    .description('Shows the state of a running service, read from its admin port.')
    .option('--url <address>', 'the admin port; without it TIDEMARK_ADMIN_HOST and TIDEMARK_ADMIN_PORT')
    .option('--json', 'print { health, status } as JSON')
    .addHelpText('after', examples)
    .action((options: { url?: string; json?: true }) => runStatus(io, options));
}

async function runStatus(io: CliIo, options: { url?: string; json?: true }): Promise<void> {
  const base = adminAddress(io, options.url);
  const [health, status] = await Promise.all([ask(io, base, '/readyz?verbose'), ask(io, base, '/status')]);
  if (options.json) io.stdout.write(`${JSON.stringify({ health, status }, undefined, 2)}\n`);
  else io.stdout.write(formatStatus({ health, status }, io.clock.nowMs()));
  const verdict = typeof health === 'object' && health !== null && 'status' in health ? health.status : undefined;
  if (verdict !== 'ready' && verdict !== 'degraded') io.exit(exitCodes.failed);
}

async function ask(io: CliIo, base: string, path: string): Promise<unknown> {
  const notOurs = (cause?: unknown) =>
    new ProgramError(`${base} is not the admin port of a Tidemark service`, {
      code: 'NOT_TIDEMARK',
      exitCode: exitCodes.unavailable,
      fix: `Check the address: ${adminPortFix}`,
      cause,
    });
  try {
    const { status, text } = await fetchWithin(io, `${base}${path}`, answerWithinMs);
    const body: unknown = JSON.parse(text);
    if (status !== 200 && status !== 503) throw notOurs();
    return body;
  } catch (error) {
    if (error instanceof ProgramError) throw error;
    if (error instanceof SyntaxError) throw notOurs(error);
    throw new ProgramError(`no service answers at ${base}: ${sentenceOf(error)}`, {
      code: 'NO_ANSWER',
      exitCode: exitCodes.unavailable,
      fix: 'Start the service with `tidemark serve`, or name its admin port with --url.',
      cause: error,
    });
  }
}

interface StatusDocument {
  /** The body of `/readyz?verbose`. */
  readonly health: unknown;
  /** The body of `/status`. */
  readonly status: unknown;
}

/**
 * The two documents for people: single values first, then a block for each object and a table for each list of objects. It knows no field
 * by name, so an older program also shows the new fields of a newer service; instants get their age.
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
