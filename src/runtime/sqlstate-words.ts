/**
 * A Postgres SQLSTATE's meaning for people (PostgreSQL, appendix "Error Codes"), as the beginning
 * of a sentence or after a colon. The log, `doctor`, `status` and a command that ends use this one
 * table. docs/runbooks/IngestStuck.md lists it with the remedies.
 */
export const sqlstates: Readonly<Record<string, string>> = {
  '08006': 'the connection to the database broke',
  '25006': 'the database server takes no writes: it is a standby, or was made read-only',
  '25P03': 'the database ended a session that was idle inside a transaction',
  '28000': 'the database refuses the user',
  '28P01': 'the database refuses the password',
  '3D000': 'the database does not exist',
  '3F000': 'the database lacks a schema of this build',
  '40001': 'two transactions of the database were in the way of each other',
  '40P01': 'the database ended a deadlock',
  '42501': 'the database user may not do that',
  '42703': 'the database lacks a column of this build',
  '42883': 'the database lacks a function of this build',
  '42P01': 'the database lacks a table of this build',
  '53100': 'the disk of the database is full',
  '53200': 'the database server is out of memory',
  '53300': 'the database has no connection left for this user',
  '53400': 'the database server has reached a limit of its settings',
  '55P03': 'another session of the database holds a lock for too long',
  '57014': 'the database ended a statement that took too long',
  '57P01': 'the database server stops, or a person ended the session',
  '57P02': 'the database server crashed and starts again',
  '57P03': 'the database server starts or stops, and takes no connection yet',
  '58030': 'the database server can not read or write its files',
  XX000: 'the database server has a fault of its own',
  XX001: 'a table of the database is damaged',
  XX002: 'an index of the database is damaged',
};

/** For a code not in the table: its class. */
const classes: Readonly<Record<string, string>> = {
  '08': 'the connection to the database broke',
  '22': 'the database refuses a value',
  '23': 'a rule of the database refuses the row',
  '42': 'the database does not know what the statement names, or refuses it',
  '53': 'the database server lacks a resource',
  '54': 'a limit of the database is exceeded',
  '57': 'the database server ended the statement',
  '58': 'the database server has a fault of its system',
  XX: 'the database server has a fault of its own',
};

/** Undefined if it is no Postgres SQLSTATE people can do anything about. */
export function sqlstateWords(code: string): string | undefined {
  if (!/^[0-9A-Z]{5}$/.test(code)) return undefined;
  return sqlstates[code] ?? classes[code.slice(0, 2)];
}

/**
 * With the code, since Postgres' documentation and the runbooks are searched by it: `the disk of
 * the database is full (SQLSTATE 53100)`.
 */
export function sqlstateSentence(code: string): string {
  const words = sqlstateWords(code);
  return words === undefined ? code : `${words} (SQLSTATE ${code})`;
}
