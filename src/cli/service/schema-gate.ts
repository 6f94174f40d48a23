import type { Pool } from 'pg';
import type { CheckResult } from '../../observability/health.ts';
import type { Log } from '../../observability/log.ts';
import type { Service } from '../../runtime/service.ts';
import { readSchemaVersion, type SchemaVersion } from '../../store/schema-version.ts';
import { CliError, exitCodes } from '../cli-error.ts';
import { plural } from '../plural.ts';

/**
 * Keeps a build away from a schema that is not its own. A newer schema ends the process with 78: no waiting mends that. An older one makes it unready until
 * somebody migrates, because a rolling deployment may start the service before the migration job has ended.
 */
export class SchemaGate implements Service {
  readonly name = 'schema-gate';
  private passed = false;
  private readonly pool: Pool;
  private readonly log: Log;

  constructor(deps: { readonly pool: Pool; readonly log: Log }) {
    this.pool = deps.pool;
    this.log = deps.log;
  }

  async start(): Promise<void> {
    const version = await readSchemaVersion(this.pool).catch((error: unknown) => {
      this.log.warn({ err: error }, 'the database does not answer yet; the service waits for it');
      return undefined;
    });
    if (version?.kind === 'newer' || version?.kind === 'foreign') {
      throw new CliError(sentenceOf(version), { code: 'SCHEMA', exitCode: exitCodes.config });
    }
    if (version?.kind === 'behind') this.log.warn({ pending: version.pending.length }, sentenceOf(version));
  }

  async drain(): Promise<void> {}

  /** Rejects with a sentence unless the schema is this build's. Once it was, it stays: migrations only add, and a newer one is for a newer build. */
  async assertCurrent(): Promise<void> {
    if (this.passed) return;
    const version = await readSchemaVersion(this.pool);
    if (version.kind !== 'current') throw new Error(sentenceOf(version));
    this.passed = true;
  }

  async check(): Promise<CheckResult> {
    const version = await readSchemaVersion(this.pool);
    return { ok: version.kind === 'current', detail: sentenceOf(version) };
  }
}

function sentenceOf(version: SchemaVersion): string {
  switch (version.kind) {
    case 'current':
      return 'the schema is this build’s';
    case 'behind':
      return `${plural(version.pending.length, 'migration is', 'migrations are')} not applied: run \`tidemark migrate\``;
    case 'newer':
      return 'the database was migrated by a newer build; start that one';
    case 'foreign':
      return `the schema is not this build’s: ${version.detail}`;
  }
}
