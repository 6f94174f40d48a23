import type { Pool } from 'pg';
import { present } from '../../domain/present.ts';
import type { CheckResult, HealthRegistry } from '../../observability/health.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Lease } from '../../runtime/lease.ts';
import { plural } from '../../runtime/plural.ts';
import { askNoWrites, type NoWrites, noWritesWords } from '../../store/session/primary-session.ts';
import type { CommandService } from '../commands/command-service.ts';
import type { LaneKeeper } from '../fleet/lane-keeper.ts';
import type { Ingest } from '../orders/ingest.ts';
import type { Connectors } from '../sources/connectors.ts';
import type { Credentials } from './credentials.ts';
import { doubtOfStates, doubtOfStoring } from './judge-trust.ts';
import type { SchemaGate } from './schema-gate.ts';
import type { TopicsCheck } from './topics-check.ts';

export interface HealthParts {
  readonly clock: Clock;
  readonly pool: Pool;
  readonly schema: SchemaGate;
  readonly keeper: LaneKeeper;
  readonly lease: Lease;
  readonly ingest: Pick<Ingest, 'depth' | 'oldestUncommittedMs' | 'trouble'>;
  readonly sources: Pick<Connectors, 'status' | 'unfollowed'>;
  readonly credentials: Pick<Credentials, 'status'>;
  /** See `FleetDirectory`. */
  readonly fleet: () => { readonly others: number; readonly anyFollows: boolean | undefined };
  readonly commands: CommandService;
  readonly topics: Pick<TopicsCheck, 'addTo'>;
  readonly draining: () => boolean;
}

/**
 * Registers the checks of `/readyz`. A source that is down only degrades it, since reads still
 * work.
 */
export function addHealthChecks(health: HealthRegistry, parts: HealthParts): void {
  const { pool, schema, keeper, lease, credentials, commands, draining } = parts;
  health.add({
    name: 'draining',
    effect: 'unready',
    check: async () => ({ ok: !draining(), detail: draining() ? 'the service is stopping' : 'not stopping' }),
  });
  health.add({
    name: 'database',
    effect: 'unready',
    check: async () => {
      // Each session asked when it began (`PrimarySession`); a server may have changed since. If it
      // refuses a new session, that error is the detail.
      const { rows } = await pool.query<{ no_writes: NoWrites | null }>(askNoWrites);
      const why = rows[0]?.no_writes ?? undefined;
      return why === undefined
        ? { ok: true, detail: 'the database answers' }
        : { ok: false, detail: noWritesWords[why] };
    },
  });
  health.add({ name: 'schema', effect: 'unready', check: () => schema.check() });
  parts.topics.addTo(health);
  health.add({
    name: 'lane',
    effect: 'leader',
    check: async () => {
      if (keeper.state !== 'held') return { ok: false, detail: `standing by for ${keeper.otherHolder ?? 'the lane'}` };
      return {
        ok: lease.mayAct(),
        detail: lease.mayAct() ? `held, epoch ${lease.epoch}` : 'held, but the last renewal is too old to act on',
      };
    },
  });
  health.add({ name: 'ingest', effect: 'degraded', check: async () => ingestCheck(parts) });
  health.add({ name: 'sources', effect: 'degraded', check: async () => sourcesCheck(parts) });
  health.add({ name: 'credentials', effect: 'degraded', check: async () => credentialsCheck(credentials) });
  health.add({ name: 'commands', effect: 'degraded', check: async () => commandsCheck(commands) });
}

export function ingestCheck({ clock, ingest }: Pick<HealthParts, 'clock' | 'ingest'>): CheckResult {
  const { depth: rows, oldestUncommittedMs: oldestMs, trouble: why } = ingest;
  const doubt = doubtOfStoring({ nowMs: clock.nowMs(), notStored: present({ rows, oldestMs, why }) });
  return { ok: doubt === undefined, detail: doubt?.detail ?? `${plural(rows, 'observation')} on the way` };
}

/** A halt stops placing and replacing only, and a person has to look at it. */
function commandsCheck(commands: CommandService): CheckResult {
  const [first, ...others] = commands.operator.halts.list();
  const { enabled, leading, unresolved } = commands.status();
  if (first !== undefined) {
    const [where, whom] =
      first.scope.kind === 'service'
        ? ['everywhere', '']
        : [`on ${first.scope.accountId}`, ` --account ${first.scope.accountId}`];
    const more = others.length === 0 ? '' : `, and ${others.length} more`;
    return {
      ok: false,
      detail: `placing is halted ${where} (${first.cause})${more}: \`tidemark resume${whom} --reason "…"\` ends it`,
    };
  }
  if (!leading) return { ok: true, detail: 'the holder of the lane sends them' };
  return { ok: true, detail: `${enabled ? 'on' : 'off'}, ${unresolved} unresolved` };
}

function credentialsCheck(credentials: HealthParts['credentials']): CheckResult {
  const all = credentials.status();
  const over = all.filter(({ state }) => state === 'login_required');
  if (all.length === 0) return { ok: false, detail: 'no user is signed in: `tidemark link` does it' };
  if (over.length === 0) return { ok: true, detail: `${all.length} in use` };
  return { ok: false, detail: `LOGIN_REQUIRED for ${over.map(({ credential }) => credential).join(', ')}` };
}

function sourcesCheck({ keeper, sources, fleet }: HealthParts): CheckResult {
  const { others, anyFollows } = fleet();
  if (keeper.state !== 'held') return { ok: true, detail: 'this process has no lane yet' };
  const accounts = sources
    .status()
    .flatMap(({ stream, accounts: all }) => all.map((account) => ({ stream, ...account })));
  const lacking = sources.unfollowed.length;
  if (lacking > 0)
    return { ok: false, detail: `${plural(lacking, 'account stream')} not followed, though this process ought to` };
  if (accounts.length === 0 && others > 0 && anyFollows !== false)
    return { ok: true, detail: 'no account is in the shards of this process' };
  if (accounts.length === 0) return { ok: false, detail: 'no account is followed yet' };
  const doubt = doubtOfStates(accounts);
  return { ok: doubt === undefined, detail: doubt?.detail ?? `${plural(accounts.length, 'account stream')} followed` };
}
