import type { Pool } from 'pg';
import type { CliIo } from '../../cli/io/io.ts';
import { askSandbox } from '../ask-sandbox.ts';
import { readLines } from '../proof/prove-run.ts';
import type { ShownRest } from '../shown-rest.ts';
import type { DemoSandbox } from '../stack/demo-sandbox.ts';
import { DoubtWatch } from './doubt-watch.ts';
import type { StreamFaultOrder } from './fault-orders.ts';
import type { Incident } from './incident.ts';
import {
  type HarmedChange,
  harmText,
  type LedgerLine,
  recoveryText,
  type StoredChange,
  StreamHarm,
} from './stream-harm.ts';

export interface WatchDeps {
  readonly io: Pick<CliIo, 'fetch' | 'clock'>;
  readonly sandbox: DemoSandbox;
  readonly rest: Pick<ShownRest, 'ask'>;
  readonly pool: Pool;
  /** The accounts that the service may see. */
  readonly accounts: ReadonlySet<string>;
}

const everyMs = 250;
/** An audit finds the last ones; it comes every 10 s in the demo. */
const patienceMs = 90_000;
const rowsAtOnce = 5_000;
const quiet = 'Whole again. No order changed meanwhile.';
/** Changes with lines of their own; the counts go on. */
const named = 5;

/**
 * Lets the sandbox do one stream fault, and writes all that follows into the incident, until
 * everything is as it was.
 */
export async function watchStreams(
  deps: WatchDeps,
  incident: Incident,
  fault: StreamFaultOrder,
  signal: AbortSignal,
): Promise<void> {
  const { io, sandbox, accounts } = deps;
  const before = await sandboxState(deps);
  const doubts = new DoubtWatch(await readDoubts(deps), { commands: false });
  const harm = new StreamHarm(accounts);
  const told: Told = { harmed: new Set(), recovered: new Set() };
  const at = { ledger: before.ledgerSeq, row: await newestRow(deps.pool), ended: 0 };
  const { met } = (await askSandbox(io, sandbox.control, '/faults', fault.order)) as { met: readonly number[] };
  incident.add('action', fault.action(met[0] ?? 0));
  while (incident.open && !signal.aborted) {
    await io.clock.sleep(everyMs, signal);
    await readOn(deps, harm, at);
    doubts.take(await readDoubts(deps), incident);
    tell(incident, harm.harmed, told);
    const { targets } = await sandboxState(deps);
    const happened = harm.harmed.length >= fault.expected && (!fault.breaks || at.ended > 0);
    const whole = happened && harm.missing === 0 && targets >= before.targets;
    const healed = harm.harmed.length === 0 ? quiet : fault.healed(harm.harmed.length);
    if (whole && doubts.clear) incident.end('healed', [healed, ...doubts.staying].join(' '));
    else if (incident.ageMs > patienceMs)
      incident.end('stuck', `Not whole after ${patienceMs / 1000} s: ask "How do you know?".`);
  }
}

interface SandboxState {
  readonly ledgerSeq: number;
  /** Account streams with a working connection. */
  readonly targets: number;
}

async function sandboxState({ io, sandbox }: WatchDeps): Promise<SandboxState> {
  const status = (await askSandbox(io, sandbox.control, '/status')) as {
    readonly ledgerSeq: number;
    readonly sessions: readonly { readonly halfOpen: boolean; readonly targets: readonly string[] }[];
  };
  const followed = status.sessions.filter(({ halfOpen }) => !halfOpen).flatMap(({ targets }) => targets);
  return { ledgerSeq: status.ledgerSeq, targets: new Set(followed).size };
}

/** The service's doubts as its own status names them. */
export async function readDoubts({ rest }: Pick<WatchDeps, 'rest'>): Promise<{ name: string; detail: string }[]> {
  const { body } = await rest.ask({ method: 'GET', path: '/v1/status' });
  return (body['trust'] as { doubts?: { name: string; detail: string }[] } | undefined)?.doubts ?? [];
}

/** How far both were read, and the connections that ended meanwhile. */
interface ReadTo {
  ledger: number;
  row: string;
  ended: number;
}

/** Ledger before log: a row that comes between the two belongs to the next turn. */
async function readOn({ io, sandbox, pool }: WatchDeps, harm: StreamHarm, at: ReadTo): Promise<void> {
  const lines: LedgerLine[] = [];
  const { control, stream } = sandbox;
  for await (const text of readLines(io.fetch, `${control}/ledger?kind=change,event,session&since=${at.ledger}`)) {
    const read = JSON.parse(text) as LedgerLine;
    const line = read.stream === 'account' ? { ...read, stream } : read;
    if (line.kind === 'session') at.ended += line.what === 'closed' ? 1 : 0;
    else lines.push(line);
    at.ledger = Math.max(at.ledger, line.seq);
  }
  harm.takeLedger(lines);
  const { rows } = await pool.query<StoredChange & { seq: string }>(
    `select seq::text, stream, order_id as "orderId", revision::int, payload::json ->> 'cause' as cause,
       payload::json #>> '{order,updatedAt}' as "updatedAt", payload::json #>> '{order,certainty}' = 'certain' as certain
     from public.order_updates where seq > $1 and stream <> 'watermarks' order by seq limit ${rowsAtOnce}`,
    [at.row],
  );
  harm.takeRows(rows);
  at.row = rows.at(-1)?.seq ?? at.row;
}

async function newestRow(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ seq: string }>(
    'select coalesce(max(seq), 0)::text as seq from public.order_updates',
  );
  return rows[0]?.seq ?? '0';
}

interface Told {
  readonly harmed: Set<HarmedChange>;
  readonly recovered: Set<HarmedChange>;
}

/** Lines for the first few changes, and all counts. */
function tell(incident: Incident, harmed: readonly HarmedChange[], told: Told): void {
  incident.harmed = harmed.length;
  incident.recovered = harmed.filter(({ healedBy }) => healedBy !== undefined).length;
  for (const change of harmed.slice(0, named)) {
    const { stream, orderId } = change;
    if (!told.harmed.has(change)) incident.add('harm', harmText(change), { stream, orderId });
    told.harmed.add(change);
    if (change.healedBy === undefined || told.recovered.has(change)) continue;
    told.recovered.add(change);
    incident.add('evidence', recoveryText(change), { stream, orderId });
  }
}
