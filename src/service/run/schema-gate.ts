import type { Pool } from 'pg';
import type { CheckResult } from '../../observability/health.ts';
import type { Logger } from '../../observability/logger.ts';
import { plural } from '../../runtime/plural.ts';
import { exitCodes, ProgramError, sentenceOf as sentenceOfError } from '../../runtime/program-error.ts';
import type { Service } from '../../runtime/supervisor.ts';
import {
  compareSchema,
  fits,
  foreignSchemaFix,
  type Migration,
  readApplied,
  readMigrations,
  type SchemaVersion,
} from '../../store/migrations.ts';
import { findPoolFault, refusedLoginFix } from '../../store/session/session-fault.ts';

/**
 * Refuses sessions without working locks (a pooler in transaction mode, a server with locks that
 * hold nothing): the process ends with 78. Refuses a schema that this build does not fit. A newer
 * schema that does not name this build as compatible ends the process with 78 too: waiting does not
 * fix it. An older one makes it unready until it is migrated, because a rolling deployment may
 * start the service before the migration job has ended.
 *
 * A login that the database refuses is an error of the log, once: it needs a person. The service
 * goes on asking, since the login may be put right at the server.
 */
export class SchemaGate implements Service {
  readonly name = 'schema-gate';
  /** Read once: a standby asks every second. */
  private build: Promise<readonly Migration[]> | undefined;
  /** Once they were seen to be whole, they are not tried again. */
  private areSessionsWhole = false;
  /** Said once, until the database has let this login in. */
  private isRefusalSaid = false;
  private readonly pool: Pool;
  private readonly log: Logger;

  constructor(deps: { readonly pool: Pool; readonly log: Logger }) {
    this.pool = deps.pool;
    this.log = deps.log;
  }

  async start(): Promise<void> {
    const version = await this.version().catch((error: unknown) => {
      if (error instanceof ProgramError) throw error;
      if (refusedLoginFix(error) !== undefined) return undefined;
      const text = 'the database cannot be used yet; the service asks again. `tidemark doctor` says what fixes it';
      this.log.warn({ err: error, reason: sentenceOfError(error) }, text);
      return undefined;
    });
    if (version?.kind === 'newer' || version?.kind === 'foreign') {
      throw new ProgramError(sentenceOf(version), {
        code: 'SCHEMA',
        exitCode: exitCodes.config,
        fix: version.kind === 'newer' ? startNewer : foreignSchemaFix,
      });
    }
    if (version?.kind === 'behind') this.log.warn({ pending: version.pending.length }, sentenceOf(version));
    if (version?.kind === 'ahead') this.log.info({ migrations: version.by }, sentenceOf(version));
  }

  async drain(): Promise<void> {}

  /**
   * Rejects with a sentence unless this build may work on the schema. It is read each time: a
   * standby may have waited since before the last migration.
   */
  async assertFits(): Promise<void> {
    const version = await this.version();
    if (!fits(version)) throw new ProgramError(sentenceOf(version), { code: 'SCHEMA' });
  }

  async check(): Promise<CheckResult> {
    const version = await this.version();
    return { ok: fits(version), detail: sentenceOf(version) };
  }

  private async version(): Promise<SchemaVersion> {
    try {
      if (!this.areSessionsWhole) await this.assertWholeSessions();
      this.build ??= readMigrations();
      const version = compareSchema(await this.build, await readApplied(this.pool));
      this.isRefusalSaid = false;
      return version;
    } catch (error) {
      this.sayRefusal(error);
      throw error;
    }
  }

  private sayRefusal(error: unknown): void {
    const fix = refusedLoginFix(error);
    if (fix === undefined || this.isRefusalSaid) return;
    this.isRefusalSaid = true;
    const needs = `${fix} Then start the service again if a setting was changed. Until then it asks again`;
    this.log.error({ err: error }, `${sentenceOfError(error)}. ${needs}`);
  }

  private async assertWholeSessions(): Promise<void> {
    const fault = await findPoolFault(this.pool);
    if (fault !== undefined)
      throw new ProgramError(fault.seen, { code: 'SESSIONS', exitCode: exitCodes.config, fix: fault.fix });
    this.areSessionsWhole = true;
  }
}

const startNewer = 'Run the build that migrated it, or a newer one; `tidemark doctor` says more.';

function sentenceOf(version: SchemaVersion): string {
  switch (version.kind) {
    case 'current':
      return 'the schema is this build’s';
    case 'behind':
      return `${plural(version.pending.length, 'migration is', 'migrations are')} not applied: run \`tidemark migrate\``;
    case 'ahead':
      return 'the database was migrated by a newer build, beside which this one may run';
    case 'newer':
      return 'the database was migrated by a newer build; start that one';
    case 'foreign':
      return `the schema is not this build’s: ${version.detail}`;
  }
}
