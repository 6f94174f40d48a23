/**
 * What a database or a role may say to the contrary of what we depend on, and a session of ours
 * sets (src/store/session/database-session.ts). Every database of a test says it, so the whole
 * suite of the store shows that no setting of these changes what is read or written.
 */
export const turnedForms: Readonly<Record<string, string>> = {
  DateStyle: 'German, DMY',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Pacific/Chatham',
  timezone_abbreviations: 'India',
  extra_float_digits: '-15',
  bytea_output: 'escape',
  xmlbinary: 'hex',
  xmloption: 'document',
  lc_monetary: 'POSIX',
  lc_numeric: 'POSIX',
  lc_time: 'POSIX',
  array_nulls: 'off',
  quote_all_identifiers: 'on',
  client_encoding: 'LATIN1',
  client_min_messages: 'debug1',
  search_path: 'pg_catalog',
  standard_conforming_strings: 'off',
  backslash_quote: 'on',
  transform_null_equals: 'on',
  row_security: 'off',
  check_function_bodies: 'off',
  // No view could be read.
  restrict_nonsystem_relation_kind: 'view',
};

/** The rest: they would stop a test's own sessions too, so only a test of them turns them. */
export const turnedRules: Readonly<Record<string, string>> = {
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  exit_on_error: 'on',
  idle_session_timeout: '1',
  statement_timeout: '1',
  lock_timeout: '1',
  idle_in_transaction_session_timeout: '1',
  // Holds for the first statement of a session, which turns it off.
  transaction_timeout: '10000',
};

/** `ALTER DATABASE` for each. */
export function turnSettings(database: string, settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(
      ([name, value]) => `alter database ${database} set ${name} to ${name === 'search_path' ? value : `'${value}'`}`,
    )
    .join('; ');
}
