import { DatabaseSession, type SessionConfig } from './database-session.ts';

/**
 * Why a server takes no writes. `standby`: it is in recovery. `read_only`:
 * `default_transaction_read_only` is on for it, the database or the role.
 */
export type NoWrites = 'standby' | 'read_only';

/** In plain words, for health checks, `doctor` and logs. */
export const noWritesWords: Readonly<Record<NoWrites, string>> = {
  standby: 'the server at this address is a standby in recovery, and takes no writes',
  read_only: 'the server at this address is read-only (default_transaction_read_only is on), and takes no writes',
};

/**
 * One statement for every place that asks. `no_writes` is `standby`, `read_only`, or null if the
 * server takes writes.
 */
export const askNoWrites = `select case when pg_is_in_recovery() then 'standby'
  when current_setting('transaction_read_only') = 'on' then 'read_only' end as no_writes`;

/** As the server itself would refuse a write: SQLSTATE 25006. Nothing was sent but the question. */
class NoWritesError extends Error {
  readonly code = '25006';
  readonly severity = 'FATAL';

  constructor(why: NoWrites) {
    super(noWritesWords[why]);
    this.name = 'NoWritesError';
  }
}

/**
 * 25006: a write in a read-only transaction, or during recovery. 57P01 to 57P05: the server shuts
 * down, crashed, starts, dropped the database, or has waited for too long. 08: the connection
 * behind a pooler is gone. After one of these the session leads to no primary any more.
 */
function endsSession(state: string): boolean {
  return state === '25006' || state.startsWith('57P') || state.startsWith('08');
}

/** Postgres reports these settings by itself when they change. */
const reported = new Set(['default_transaction_read_only', 'in_hot_standby']);

/**
 * A session with a server that takes writes, and with no other. libpq's
 * `target_session_attrs=read-write` promises the same; here it is kept for the session's life.
 *
 * States: connecting → open → over. `connect` rejects with `NoWritesError` if the server takes no
 * writes. A session is over as soon as the server says it takes none any more, or goes away.
 * Statements in flight still get their answer. The next session asks the address anew, and so
 * reaches the promoted server. Without this, a demoted primary that stays up keeps its old sessions
 * for good: each write is refused, and the session itself is well.
 *
 * Not a question before each use: that is a round trip for each statement, and a server may change
 * between the two.
 */
export class PrimarySession extends DatabaseSession {
  /** True: use it for nothing more. */
  over = false;
  private checked = false;

  constructor(config?: SessionConfig) {
    super(config);
    const { connection } = this as unknown as { readonly connection: NodeJS.EventEmitter };
    connection.on('errorMessage', ({ code }: { code?: string }) => {
      if (code !== undefined && endsSession(code)) this.finish();
    });
    connection.on('parameterStatus', (said: { parameterName: string; parameterValue: string }) => {
      if (this.checked && reported.has(said.parameterName) && said.parameterValue === 'on') this.finish();
    });
  }

  protected override async open(): Promise<void> {
    await super.open();
    try {
      const { rows } = await this.query<{ no_writes: NoWrites | null }>(askNoWrites);
      const why = rows[0]?.no_writes ?? undefined;
      if (why !== undefined) throw new NoWritesError(why);
    } catch (error) {
      this.finish();
      throw error;
    }
    this.checked = true;
  }

  /** After the present message, so its error still reaches the answered statement. */
  private finish(): void {
    if (this.over) return;
    this.over = true;
    process.nextTick(() => void this.end());
  }
}
