import { type StatusDocument, statusAnswer } from '../contract/status-answer.ts';
import { plural } from '../runtime/plural.ts';
import { whyUnhealthy } from './fleet.ts';
import { age, ageOf, type Columns, clip, formatTable, printable, tableText } from './io/format-text.ts';

/** As a service answers `/readyz?verbose` and `/status`. */
export interface StatusAnswers {
  readonly health: unknown;
  readonly status: unknown;
  /**
   * The verdict is for one process, without the fleet's: REST refused this caller, or did not
   * answer for this service.
   */
  readonly alone?: 'refused' | 'unasked';
}

export interface ShownStatus {
  readonly text: string;
  /** The service is ready, and has no doubt about its data. */
  readonly isWell: boolean;
}

/** A terminal has at least so many columns, and so does a ticket. */
const width = 100;

interface Health {
  readonly status?: unknown;
  readonly checks?: readonly {
    readonly name: string;
    readonly ok: boolean;
    readonly effect: string;
    readonly detail: string;
  }[];
}

/**
 * A service's state for people: the verdict in the first line, then a block for each subject with
 * something to show. Ages instead of instants.
 */
export function showStatus({ health, status, alone }: StatusAnswers, nowMs: number): ShownStatus {
  const { status: readiness, checks = [] } = (health ?? {}) as Health;
  const failing = checks.filter(({ ok, effect }) => !ok && effect !== 'leader');
  const parsed = statusAnswer.safeParse(status);
  const checkBlock = block('checks that fail', [
    ...failing.map(({ name, effect, detail }) => [name, effect === 'unready' ? 'not ready' : effect, detail]),
  ]).flatMap(wrap);
  if (!parsed.success) {
    const first = `${String(readiness ?? 'unknown')}; its state is that of another version of Tidemark: --json shows it`;
    return { text: joined([first, ...checkBlock]), isWell: false };
  }
  const { data } = parsed;
  const isWell = readiness === 'ready' && data.trust.trusted;
  const lines = [
    verdict(data, failing, isWell),
    facts(data, nowMs),
    ...(alone === undefined ? [] : [aloneWords[alone]]),
  ];
  return { text: joined([...lines, ...doubts(data, nowMs), ...checkBlock, ...subjects(data, nowMs)]), isWell };
}

const aloneWords = {
  refused: 'of this process alone: the verdict of the fleet needs a token with ops:read (TIDEMARK_TOKEN)',
  unasked: 'of this process alone: REST of this machine does not answer for it (--fleet --url http://HOST:8080)',
} as const;

function joined(lines: readonly string[]): string {
  return `${lines.map((line) => clip(printable(line), width)).join('\n')}\n`;
}

/** A doubt or a failed check is whole: its end names the fix. */
function wrap(line: string): string[] {
  const text = printable(line);
  if (text.length <= width) return [text];
  const end = text.lastIndexOf(' ', width);
  if (end <= 6) return [text.slice(0, width), ...wrap(`      ${text.slice(width)}`)];
  return [text.slice(0, end), ...wrap(`      ${text.slice(end + 1)}`)];
}

function verdict({ trust, lane }: StatusDocument, failing: NonNullable<Health['checks']>, isWell: boolean): string {
  if (isWell) return 'trusted';
  const stopping = failing.filter(({ effect }) => effect === 'unready').map(({ name }) => name);
  if (stopping.length > 0) return `not ready: ${stopping.join(', ')}`;
  const names = trust.doubts.map(({ name }) => name.replaceAll('_', ' '));
  if (lane.role === 'standby' && lane.holder !== null) return `standby for ${lane.holder}, which knows more: ask it`;
  if (names.length > 0) return `in doubt: ${names.join(', ')}`;
  return failing.length === 0
    ? 'unknown: its health is not known'
    : `degraded: ${failing.map(({ name }) => name).join(', ')}`;
}

function facts(
  { version, updatesPerSecond, latency, newestHeartbeat, commands }: StatusDocument,
  nowMs: number,
): string {
  const millis = (ms: number | null) => (ms === null ? '-' : `${ms} ms`);
  const heartbeat = newestHeartbeat === null ? 'no heartbeat yet' : `heartbeat ${ageOf(newestHeartbeat, nowMs)} ago`;
  const delay = `p50 ${millis(latency.p50Ms)}, p99 ${millis(latency.p99Ms)} to Kafka`;
  return `${updatesPerSecond} updates/s; ${delay}; ${heartbeat}; commands ${commands.commands}; version ${version}`;
}

function doubts({ trust }: StatusDocument, nowMs: number): string[] {
  return trust.doubts.flatMap(({ name, detail, since, runbook }, at) => [
    ...(at === 0 ? ['', 'doubts'] : []),
    ...wrap(`  ${name.replaceAll('_', ' ')}${since === null ? '' : `, for ${ageOf(since, nowMs)}`}: ${detail}`),
    `    docs/runbooks/${runbook}.md`,
  ]);
}

type ShownInstance = Partial<Record<keyof NonNullable<StatusDocument['instances']>[number], unknown>>;

function subjects(data: StatusDocument, nowMs: number): string[] {
  const old = (at: string | null) => (at === null ? undefined : ageOf(at, nowMs));
  const { lag, commands, sources } = data;
  const silent = (data.unanswered ?? []).map(({ instance, code }): ShownInstance => ({ instance, unresolved: code }));
  return [
    ...table('accounts', data.accounts, {
      ...{ ACCOUNT: 'account', STREAM: 'stream', STATE: stateOf, FOR: ({ since }) => old(since) },
      ...{ EVENT: ({ lastEvent }) => old(lastEvent), READ: ({ lastResync }) => old(lastResync) },
      ...{ AUDIT: ({ lastAudit }) => old(lastAudit), LOST: 'silentLosses', 'LAST ERROR': 'lastError' },
    }),
    ...table(
      'way of the data',
      [
        { hop: 'socket to Postgres', rows: lag.ingestQueued, oldest: lag.pendingOldest },
        { hop: 'Postgres to Kafka, updates', rows: lag.relayRows, oldest: lag.relayOldest },
        { hop: 'Postgres to Kafka, state', rows: lag.stateRows, oldest: null },
        { hop: 'Postgres to Kafka, results', rows: lag.resultRows, oldest: null },
      ],
      { HOP: 'hop', WAITING: ({ rows }) => plural(rows, 'row'), OLDEST: ({ oldest }) => old(oldest) },
    ),
    ...table<ShownInstance>('instances', [...(data.instances ?? []), ...silent], {
      INSTANCE: 'instance',
      TRUSTED: ({ trusted }) => (trusted === undefined ? 'no answer' : trusted ? 'yes' : 'no'),
      ...{ 'UPDATES/S': 'updatesPerSecond', 'TO STORE': 'ingestQueued', 'TO KAFKA': 'relayRows' },
      UNRESOLVED: 'unresolved',
    }),
    ...laneFacts(data, nowMs),
    ...block(
      'unresolved commands',
      commands.unresolved ? [[String(commands.unresolved), `oldest ${old(commands.oldestUnresolved) ?? '-'}`]] : [],
    ),
    ...block(
      'halts',
      data.halts.map(({ scope, cause, since, by, reason }) => [scope, cause, old(since) ?? '-', by, reason]),
    ),
    ...block(
      'dead letters',
      (data.deadLetters ?? []).map(({ stream, reason, rows }) => [stream, reason, plural(rows, 'row')]),
    ),
    ...block(
      'orders that the platform does not know',
      data.absentOrders.map(({ account, stream, what, orders, first }) => [account, stream, what, `${orders}`, first]),
    ),
    ...table('connections', sources, {
      ...{ CREDENTIAL: 'credential', STREAM: 'stream' },
      NOW: ({ connected, lastEnd }) => (connected ? 'open' : lastEnd === null ? 'none' : 'cut'),
      ...{ FRAME: ({ lastFrame }) => old(lastFrame), EVENT: ({ lastEvent }) => old(lastEvent) },
      'LAST END': ({ lastEnd, lastEndAt }) =>
        lastEnd === null ? undefined : `${old(lastEndAt) ?? '-'} ago: ${lastEnd}`,
    }),
    ...table('logins', data.credentials, {
      ...{ CREDENTIAL: 'credential', STATE: 'state' },
      'TOKEN ENDS IN': ({ expires }) =>
        expires === null ? undefined : age(Math.max(0, Math.round((Date.parse(expires) - nowMs) / 1000))),
      'LAST ERROR': 'lastError',
    }),
  ];
}

function laneFacts({ lane }: StatusDocument, nowMs: number): string[] {
  const holder = lane.holder === null ? 'held by no process' : `held by ${lane.holder}`;
  const since = lane.since === null ? '-' : ageOf(lane.since, nowMs);
  return block('lane', [
    [`lane ${lane.lane}, ${holder}${lane.holder === lane.instance ? ' (this process)' : ''} for ${since}`],
    [
      `epoch ${lane.epoch}, ${plural(lane.takeovers, 'takeover')} by this process, which ${lane.mayAct ? 'may' : 'may not'} act now`,
    ],
    ...(lane.drained
      ? [['drained by an operator: it holds no accounts while others can (`tidemark fleet undrain`)']]
      : []),
    ...(lane.unhealthy === null
      ? []
      : [[`unhealthy, so it gives its accounts to others: ${whyUnhealthy[lane.unhealthy]}`]]),
  ]);
}

/** With the platform's own word if it forbids placing. */
function stateOf({ state, platformStatus, placeable, unlistedSince }: StatusDocument['accounts'][number]): string {
  if (unlistedSince !== null) return `${state}, unlisted`;
  return placeable === false ? `${state}, ${platformStatus ?? 'no status'}` : state;
}

/** A title, and its rows below it; nothing without rows. */
function block(title: string, rows: readonly (readonly string[])[]): string[] {
  return titled(title, rows.length === 0 ? '' : formatTable(rows));
}

function table<Row>(title: string, rows: readonly Row[], columns: Columns<Row>): string[] {
  return titled(title, rows.length === 0 ? '' : tableText(rows, columns));
}

function titled(title: string, text: string): string[] {
  if (text === '') return [];
  const lines = text.trimEnd().split('\n');
  return ['', title, ...lines.map((line) => `  ${line}`)];
}
