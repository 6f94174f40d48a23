import pg, { type ClientConfig } from 'pg';

/**
 * Settings our statements or pg's parsers depend on. A server, a database or a role may set them to
 * something else. Each session sets all of them, so no `ALTER ROLE … SET` changes the data we read
 * or write.
 *
 * Not here: `synchronous_commit`, which an operator chooses (`doctor` warns about it), and
 * `default_transaction_read_only` (see `PrimarySession`).
 */
const dependedOn = {
  // How values become text, and text becomes values.
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  timezone_abbreviations: 'Default',
  extra_float_digits: '1',
  bytea_output: 'hex',
  xmlbinary: 'base64',
  xmloption: 'content',
  lc_monetary: 'C',
  lc_numeric: 'C',
  lc_time: 'C',
  array_nulls: 'on',
  quote_all_identifiers: 'off',
  client_encoding: 'UTF8',
  client_min_messages: 'notice',
  // How a statement is read. `search_path`: no other role can put a name into it.
  search_path: 'public,pg_temp',
  standard_conforming_strings: 'on',
  backslash_quote: 'safe_encoding',
  transform_null_equals: 'off',
  row_security: 'on',
  check_function_bodies: 'on',
  // A journal function needs a new snapshot for each statement: `append_journal` reads the halts
  // behind a lock.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  // When the server ends a session by itself. Each of ours has its own deadlines.
  exit_on_error: 'off',
  idle_session_timeout: '0',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
} as const;

/**
 * From Postgres 17 on, or in a late minor version of an older one. A server without them refuses a
 * session that names them, so each is set only if it exists.
 */
const ofNewerServers = { transaction_timeout: '0', restrict_nonsystem_relation_kind: '' } as const;

type Settings = Readonly<Record<string, string>>;

/** `settings`: the server's, in addition to those all sessions have. */
export type SessionConfig = ClientConfig & { readonly settings?: Settings };

/** Skips names the server does not know. A setting that is the same already costs a comparison. */
const setAll = `select count(set_config(name, value, false)) from unnest($1::text[], $2::text[]) as s (name, value)
  where current_setting(name, true) is not null`;

/**
 * The only kind of session we open. Its settings are startup parameters, so they hold for its first
 * statement. That statement sets them once more: a pooler in session mode may drop the parameters
 * without a word (PgBouncer's `ignore_startup_parameters`).
 *
 * `connect` rejects if a setting is refused. Settings in the address (`?options=-c …`) stay, behind
 * ours.
 */
export class DatabaseSession extends pg.Client {
  private readonly settings: Settings;

  constructor(config: SessionConfig = {}) {
    const { connectionString, options } = apartFromOptions(config.connectionString ?? '');
    const timeouts = {
      statement_timeout: config.statement_timeout,
      lock_timeout: config.lock_timeout,
      idle_in_transaction_session_timeout: config.idle_in_transaction_session_timeout,
    };
    const given = Object.entries(timeouts).flatMap(([name, ms]) => (ms ? [[name, String(ms)] as const] : []));
    const settings = { ...dependedOn, ...config.settings, ...Object.fromEntries(given) };
    super({
      ...config,
      ...(config.connectionString !== undefined && { connectionString }),
      options: [options, ...Object.entries(settings).map(startupOption)].join(' ').trim(),
    });
    this.settings = { ...settings, ...ofNewerServers };
  }

  override connect(): Promise<this>;
  override connect(callback: (error: Error | null, client?: this) => void): void;
  override connect(callback?: (error: Error | null, client?: this) => void): Promise<this> | undefined {
    // A pool listens only to an open session. Without a listener, one that breaks under its first
    // statements would end the process. They reject as well.
    const ignore = () => undefined;
    this.on('error', ignore);
    const opened = this.open().then(() => {
      this.off('error', ignore);
      return this;
    });
    if (callback === undefined) return opened;
    opened.then(
      () => callback(null, this),
      (error: Error) => callback(error),
    );
    return undefined;
  }

  /** The session, ready for use. A class with more questions to a server asks them after this. */
  protected async open(): Promise<void> {
    await super.connect();
    try {
      await this.query(setAll, [Object.keys(this.settings), Object.values(this.settings)]);
    } catch (error) {
      void this.end();
      throw error;
    }
  }
}

/** A backslash escapes blanks and backslashes: libpq, "options". */
function startupOption([name, value]: readonly [string, string]): string {
  return `-c ${name}=${value.replaceAll(/[\\ ]/g, '\\$&')}`;
}

/**
 * pg lets the address's `options` replace those in its configuration. Only an address with them is
 * written anew.
 */
function apartFromOptions(url: string): { readonly connectionString: string; readonly options: string } {
  const address = URL.parse(url);
  const options = address?.searchParams.get('options') ?? '';
  if (address === null || options === '') return { connectionString: url, options: '' };
  address.searchParams.delete('options');
  return { connectionString: address.href, options };
}
