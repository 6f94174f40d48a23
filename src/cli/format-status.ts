import { type StatusDocument, statusAnswer } from '../contract/status-answer.ts';
import { plural } from '../runtime/plural.ts';
import { whyUnfit } from './fleet/fleet-text.ts';
import { age, ageOf, clip, formatTable, printable } from './io/format-text.ts';

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

function verdict(
  { trust, lane }: StatusDocument,
  failing: readonly { name: string; effect: string }[],
  isWell: boolean,
): string {
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

function subjects(data: StatusDocument, nowMs: number): string[] {
  const old = (at: string | null) => (at === null ? '-' : ageOf(at, nowMs));
  const { lag, lane, commands } = data;
  const holder = lane.holder === null ? 'held by no process' : `held by ${lane.holder}`;
  return [
    ...block(
      'accounts',
      [
        ...data.accounts.map((row) => [
          ...[
            row.account,
            row.stream,
            stateOf(row),
            old(row.since),
            old(row.lastEvent),
            old(row.lastResync),
            old(row.lastAudit),
          ],
          ...[String(row.silentLosses), row.lastError ?? '-'],
        ]),
      ],
      ['ACCOUNT', 'STREAM', 'STATE', 'FOR', 'EVENT', 'READ', 'AUDIT', 'LOST', 'LAST ERROR'],
    ),
    ...block(
      'way of the data',
      [
        ['socket to Postgres', plural(lag.ingestQueued, 'row'), old(lag.unsettledOldest)],
        ['Postgres to Kafka, updates', plural(lag.relayRows, 'row'), old(lag.relayOldest)],
        ['Postgres to Kafka, state', plural(lag.stateRows, 'row'), '-'],
        ['Postgres to Kafka, outcomes', plural(lag.outcomeRows, 'row'), '-'],
      ],
      ['HOP', 'WAITING', 'OLDEST'],
    ),
    ...block(
      'instances',
      [
        ...(data.instances ?? []).map((row) => [
          ...[
            row.instance,
            row.trusted ? 'yes' : 'no',
            `${row.updatesPerSecond}`,
            String(row.ingestQueued),
            String(row.relayRows),
          ],
          row.unresolved === null ? '-' : String(row.unresolved),
        ]),
        ...(data.unanswered ?? []).map(({ instance, code }) => [instance, 'no answer', '-', '-', '-', code]),
      ],
      ['INSTANCE', 'TRUSTED', 'UPDATES/S', 'TO STORE', 'TO KAFKA', 'UNRESOLVED'],
    ),
    ...block('lane', [
      [`lane ${lane.lane}, ${holder}${lane.holder === lane.instance ? ' (this process)' : ''} for ${old(lane.since)}`],
      [
        `epoch ${lane.epoch}, ${plural(lane.takeovers, 'takeover')} by this process, which ${lane.mayAct ? 'may' : 'may not'} act now`,
      ],
      ...(lane.drained
        ? [['drained by an operator: it holds no accounts while others can (`tidemark fleet undrain`)']]
        : []),
      ...(lane.unfit === null ? [] : [[`unfit, so it gives its accounts to others: ${whyUnfit[lane.unfit]}`]]),
    ]),
    ...block(
      'unresolved commands',
      commands.unresolved ? [[String(commands.unresolved), `oldest ${old(commands.oldestUnresolved)}`]] : [],
    ),
    ...block(
      'halts',
      data.halts.map(({ scope, cause, since, by, reason }) => [scope, cause, old(since), by, reason]),
    ),
    ...block(
      'quarantine',
      (data.quarantine ?? []).map(({ stream, reason, rows }) => [stream, reason, plural(rows, 'row')]),
    ),
    ...block('orders that the platform does not know', [
      ...data.absentOrders.map(({ account, stream, what, orders, first }) => [
        account,
        stream,
        what,
        String(orders),
        first,
      ]),
    ]),
    ...block(
      'connections',
      [
        ...data.sources.map(({ credential, stream, connected, lastFrame, lastEvent, lastEnd, lastEndAt }) => [
          ...[
            credential,
            stream,
            connected ? 'open' : lastEnd === null ? 'none' : 'cut',
            old(lastFrame),
            old(lastEvent),
          ],
          lastEnd === null ? '-' : `${old(lastEndAt)} ago: ${lastEnd}`,
        ]),
      ],
      ['CREDENTIAL', 'STREAM', 'NOW', 'FRAME', 'EVENT', 'LAST END'],
    ),
    ...block(
      'logins',
      [
        ...data.credentials.map(({ credential, state, expires, lastError }) => [
          ...[
            credential,
            state,
            expires === null ? '-' : age(Math.max(0, Math.round((Date.parse(expires) - nowMs) / 1000))),
          ],
          lastError ?? '-',
        ]),
      ],
      ['CREDENTIAL', 'STATE', 'TOKEN ENDS IN', 'LAST ERROR'],
    ),
  ];
}

/** With the platform's own word if it forbids placing. */
function stateOf({ state, platformStatus, placeable, unlistedSince }: StatusDocument['accounts'][number]): string {
  if (unlistedSince !== null) return `${state}, unlisted`;
  return placeable === false ? `${state}, ${platformStatus ?? 'no status'}` : state;
}

/** A title, and its rows below their heading; nothing without rows. */
function block(title: string, rows: readonly (readonly string[])[], heading?: readonly string[]): string[] {
  if (rows.length === 0) return [];
  const lines = formatTable(heading === undefined ? rows : [heading, ...rows])
    .trimEnd()
    .split('\n');
  return ['', title, ...lines.map((line) => `  ${line}`)];
}
