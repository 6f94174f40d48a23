import type { Pool } from 'pg';
import { z } from 'zod';
import { compareInstants } from '../../domain/instant.ts';
import type { Order, OrderView, Stream } from '../../domain/order.ts';
import type { SandboxDescription } from '../../sandbox/describe-sandbox.ts';
import { decodeOrder } from '../../service/sources/decode-order.ts';
import { alpacaVenue } from '../../venue/alpaca/alpaca-venue.ts';
import { parseJson } from '../../venue/parse-json.ts';
import { platformVenue } from '../../venue/platform/platform-venue.ts';
import type { TopicCounts } from './topic-counts.ts';

/**
 * A run's result, by the platform's ledger, the database and the topic: never by the service's own
 * claims.
 */
export interface RunProof {
  /** Events sent by the platform, by its ledger. */
  readonly observations: number;
  /** Accepted changes in the log. */
  readonly updates: number;
  /**
   * The part of `updates` read from lists or single orders, or shown by the answer to a write. They
   * need no event: the first list has every order once.
   */
  readonly byReads: number;
  /** Records on the updates topic, repeats among them. */
  readonly published: number;
  /** (order, revision) pairs that a consumer accepted. */
  readonly consumed: number;
  /**
   * Log rows that are not on the topic as they are (if there is a topic), and orders with another
   * stored state than the platform's.
   */
  readonly lost: number;
  /**
   * Changes accepted twice: one source version under two revisions, a revision with two contents,
   * or on the topic but not in the log.
   */
  readonly doubled: number;
  /** First occurrences on the topic that did not follow the revision before by one. */
  readonly outOfOrder: number;
  readonly orders: number;
  /** Harmless: readers drop them by revision. */
  readonly repeats: number;
  /** The first few lost or doubled changes, for people, and the place each was lost. */
  readonly faults: readonly string[];
}

/** `statementMs` for a proof's pool: some statements read the whole log. */
export const proofStatementMs = 300_000;

interface ProofDeps {
  /** Made with `proofStatementMs`. */
  readonly pool: Pool;
  readonly fetch: typeof fetch;
  /**
   * A consumer's records. Undefined: there is no Kafka, so the log's rows wait for it and are not
   * lost.
   */
  readonly counts: TopicCounts | undefined;
}

interface ProvenRun {
  /** The sandbox's control port. */
  readonly control: string;
  /** The accounts that the service could see. */
  readonly accounts: ReadonlySet<string>;
  /** The service's name for the sandbox's stream `account`. */
  readonly stream?: Stream;
}

interface StoredOrder {
  readonly order: Order;
  readonly sourceVersion: string | null;
}

const pageRows = 5000;
const shownFaults = 20;

/**
 * Compares the three. The market must be at rest and the service idle: changes under way would look
 * lost.
 */
export async function proveRun(deps: ProofDeps, run: ProvenRun): Promise<RunProof> {
  const faults: string[] = [];
  const missing = await missingOnTopic(deps, faults);
  const wrong = await ordersUnlikeTruth(deps, run, faults);
  const { counts } = deps;
  const onTopicOnly = counts === undefined ? 0 : counts.contradictions + Math.max(0, counts.consumed - missing.rows);
  const doubled = (await versionsTwice(deps.pool, faults)) + onTopicOnly;
  let observations = 0;
  for await (const line of readLines(deps.fetch, `${run.control}/ledger?kind=event`)) {
    const truncated = truncationOf(line);
    if (truncated === undefined) observations += 1;
    // First, so that other faults cannot push it out.
    else faults.unshift(truncated);
  }
  return {
    observations,
    updates: missing.rows,
    byReads: missing.byReads,
    published: counts?.records ?? 0,
    consumed: counts?.consumed ?? 0,
    lost: missing.count + wrong.count,
    doubled,
    outOfOrder: counts?.outOfOrder ?? 0,
    orders: wrong.orders,
    repeats: counts?.repeats ?? 0,
    faults: faults.slice(0, shownFaults),
  };
}

/** Compares the log, row by row, with the records that the consumer read. */
async function missingOnTopic(
  { pool, counts }: ProofDeps,
  faults: string[],
): Promise<{ rows: number; byReads: number; count: number }> {
  let rows = 0;
  let byReads = 0;
  let count = 0;
  let after = '0';
  for (;;) {
    const page = await pool.query<{ seq: string; stream: string; order_id: string; revision: number; payload: string }>(
      `select seq, stream, order_id, revision::int, payload from public.order_updates
       where seq > $1 and stream <> 'watermarks' order by seq limit ${pageRows}`,
      [after],
    );
    for (const { stream, order_id: orderId, revision, payload } of page.rows) {
      rows += 1;
      // Not parsed: a benchmark run has millions of rows.
      if (!payload.includes('"cause":"stream"')) byReads += 1;
      if (counts === undefined || counts.has(`${stream}:${orderId}`, revision, payload)) continue;
      count += 1;
      faults.push(`${stream}:${orderId} revision ${revision} is in the log and not on the topic`);
    }
    const last = page.rows.at(-1);
    if (last === undefined) return { rows, byReads, count };
    after = last.seq;
  }
}

/** Compares the platform's truth with the orders table. */
async function ordersUnlikeTruth(
  deps: ProofDeps,
  { control, accounts, stream = 'account' }: ProvenRun,
  faults: string[],
): Promise<{ orders: number; count: number }> {
  let orders = 0;
  let count = 0;
  let lines: string[] = [];
  const compare = async () => {
    const truths = lines
      .map(parseTruth)
      .filter(({ accountId }) => accounts.has(accountId))
      .map((truth) => (truth.stream === 'account' ? { ...truth, stream } : truth));
    lines = [];
    const stored = await readOrders(
      deps.pool,
      truths.map(({ stream, orderId }) => `${stream}:${orderId}`),
    );
    for (const truth of truths) {
      orders += 1;
      const key = `${truth.stream}:${truth.orderId}`;
      const found = stored.get(key);
      const wrong = found === undefined ? ['everything: it is not stored'] : differences(truth, found);
      if (wrong.length === 0) continue;
      count += 1;
      faults.push(`${key} differs from the platform in ${wrong.join(', ')}`);
    }
  };
  for await (const line of readLines(deps.fetch, `${control}/state`)) {
    lines.push(line);
    if (lines.length >= pageRows) await compare();
  }
  await compare();
  return { orders, count };
}

async function readOrders(pool: Pool, keys: readonly string[]): Promise<Map<string, StoredOrder>> {
  const { rows } = await pool.query<{ key: string; state: Order; source_version: string | null }>(
    `select stream || ':' || order_id as key, state, source_version::text from public.current_orders
     where (stream, order_id) in (select split_part(k, ':', 1), substr(k, strpos(k, ':') + 1) from unnest($1::text[]) k)`,
    [keys],
  );
  return new Map(rows.map((row) => [row.key, { order: row.state, sourceVersion: row.source_version }]));
}

/**
 * One platform version must be one revision of ours. A revision that only adds our reference does
 * not count: it may come after the other fields.
 */
async function versionsTwice(pool: Pool, faults: string[]): Promise<number> {
  const { rows } = await pool.query<{ order_id: string; version: string }>(
    `select order_id, payload::json ->> 'sourceVersion' as version from public.order_updates where stream = 'prediction'
       and (revision = 1 or json_array_length(payload::json -> 'changed') = 0 or exists (select from json_array_elements_text(payload::json -> 'changed') as c(field)
         where c.field not in ('clientOrderRef', 'commandId', 'callerRef', 'origin')))
     group by order_id, payload::json ->> 'sourceVersion', payload::json ->> 'sourceEpoch' having count(*) > 1`,
  );
  for (const row of rows) faults.push(`prediction:${row.order_id} version ${row.version} was accepted twice`);
  return rows.length;
}

/**
 * One line from the sandbox's `GET /state`: an order's present truth, as the platform itself holds
 * it.
 */
interface TruthLine {
  readonly stream: Stream;
  readonly accountId: string;
  readonly orderId: string;
  readonly version?: string;
  readonly order: unknown;
}

export function parseTruth(line: string): TruthLine {
  return parseJson(line) as TruthLine;
}

const venue = { ...platformVenue, ...alpacaVenue };

/** We must agree with the platform in these fields once nothing is under way. */
const compared = [
  'status',
  'statusRaw',
  'pendingAction',
  'quantity',
  'price',
  'stopPrice',
  'cumQty',
  'leavesQty',
  'avgPrice',
  'notional',
  'replaces',
  'replacedBy',
] as const;

/**
 * Names the fields with a difference between the stored order and the truth; empty when they agree.
 */
export function differences(truth: TruthLine, stored: StoredOrder): string[] {
  const view = viewOf(truth);
  if (view === undefined) return ['unreadable'];
  const fields = compared.filter((field) => view[field] !== stored.order[field]);
  const moments = compareInstants(view.updatedAt, stored.order.updatedAt);
  return [
    ...fields,
    ...(truth.version !== undefined && truth.version !== stored.sourceVersion ? ['version'] : []),
    ...(moments === 0 ? [] : ['updatedAt']),
  ];
}

function viewOf(truth: TruthLine): OrderView | undefined {
  const { stream, accountId, order } = truth;
  const origin = {
    venue,
    stream,
    accountId,
    cause: 'probe' as const,
    sourceEpoch: 0,
    observedAtMs: 0,
    receivedMs: 0,
    bytes: 0,
  };
  const decoded = decodeOrder(order, origin, () => '');
  return decoded.kind === 'order' ? decoded.view : undefined;
}

/**
 * An NDJSON answer's lines, as they come: it may be larger than memory. Throws when it does not
 * answer with 200.
 */
export async function* readLines(fetchUrl: typeof fetch, url: string): AsyncGenerator<string, void, undefined> {
  const response = await fetchUrl(url);
  if (!response.ok || response.body === null) throw new Error(`${url} answered ${response.status}`);
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield line;
  }
  if (rest !== '') yield rest;
}

/** Why a ledger with this line proves nothing of its beginning; undefined for any other line. */
export function truncationOf(line: string): string | undefined {
  const firstSeq = /^\{"kind":"truncated","firstSeq":(\d+)\}/.exec(line)?.[1];
  return firstSeq === undefined
    ? undefined
    : `the ledger's beginning was deleted: nothing before line ${firstSeq} is proven`;
}

const token = z.object({ access_token: z.string() });
const listed = z.object({ accounts: z.array(z.object({ trading_account_id: z.string() })) });

/**
 * The accounts that the sandbox's client may see, asked as any client would: other accounts' orders
 * are not lost.
 */
export async function visibleAccounts(
  fetchUrl: typeof fetch,
  sandbox: SandboxDescription,
): Promise<ReadonlySet<string>> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: sandbox.clientId,
    client_secret: sandbox.clientSecret,
  });
  const granted = await fetchUrl(`${sandbox.platform}/v1/oauth2/token`, { method: 'POST', body: form });
  const { access_token: bearer } = token.parse(await granted.json());
  const answer = await fetchUrl(`${sandbox.platform}/v2/users/me/accounts`, {
    headers: { authorization: `Bearer ${bearer}` },
  });
  return new Set(listed.parse(await answer.json()).accounts.map((account) => account.trading_account_id));
}
