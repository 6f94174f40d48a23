import pg, { type ClientConfig } from 'pg';

/**
 * What a server, a database or a role may set to something else, and our statements or pg's parsers
 * depend on. Each session sets all of them, so no `ALTER ROLE … SET` changes what we read or write.
 *
 * Not here: `synchronous_commit`, which an operator chooses (`doctor` warns of it), and
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
  // A function of the journal needs a new snapshot for each statement:
  // `mark_sending` reads the halts behind a lock.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  // When the server ends a session by itself. Each of ours has deadlines of its own.
  exit_on_error: 'off',
  idle_session_timeout: '0',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
} as const;

/**
 * From Postgres 17 on. An older server refuses a session that
 * names it, so it is set only where it exists.
 */
const ofNewerServers = { transaction_timeout: '0' } as const;

type Settings = Readonly<Record<string, string>>;

/** `settings`: of the server, in addition to those that all sessions have. */
export type SessionConfig = ClientConfig & { readonly settings?: Settings };

/** Skips what the server does not know. A setting that is the same already costs a comparison. */
const setAll = `select count(set_config(name, value, false)) from unnest($1::text[], $2::text[]) as s (name, value)
  where current_setting(name, true) is not null`;

/**
 * The only kind of session that we open. Its settings are startup parameters, so that they hold for
 * its first statement, and are set once more by that statement: a pooler in session mode may drop
 * the parameters without a word (PgBouncer's `ignore_startup_parameters`).
 *
 * `connect` rejects where a setting is refused. Settings in the
 * address (`?options=-c …`) stay, behind ours.
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
    // A pool listens only to a session that is open: without a listener, one that breaks under its
    // first statements would end the process. They reject as well.
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

  /** The session, ready for use. A class that asks more of a server asks it after this. */
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

/** Blanks and backslashes are escaped by a backslash: libpq, "options". */
function startupOption([name, value]: readonly [string, string]): string {
  return `-c ${name}=${value.replaceAll(/[\\ ]/g, '\\$&')}`;
}

/**
 * pg lets `options` of the address replace those of its configuration. Only
 * an address that has them is written anew.
 */
function apartFromOptions(url: string): { readonly connectionString: string; readonly options: string } {
  const address = URL.parse(url);
  const options = address?.searchParams.get('options') ?? '';
  if (address === null || options === '') return { connectionString: url, options: '' };
  address.searchParams.delete('options');
  return { connectionString: address.href, options };
}
