import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

/** The pieces of the schema beside its tables, in the order in which a database gets them. */
const subjects = [
  ...['head', 'lanes', 'log', 'journal', 'limits', 'steps', 'halts', 'principals', 'losses', 'guards', 'rights'],
];

/** What the last migration has of the pieces stands below this line. */
const marker =
  '-- ----- From here on as src/store/sql has it: functions, views and triggers that are new or changed, and all rights. ' +
  'Written by test/store/baseline.test.ts -----\n';

/**
 * Throws where a file of src/store/sql has no place in the order. `tables`: the DDL of
 * src/store/schema.
 */
export function joinPieces(tables = ''): string {
  const files = globSync('src/store/sql/*.sql').map((file) => basename(file, '.sql'));
  const unplaced = files.filter((file) => !subjects.includes(file));
  if (unplaced.length > 0) throw new Error(`src/store/sql: no place for ${unplaced.join(', ')}`);
  const [head, ...pieces] = subjects.map((subject) => readFileSync(`src/store/sql/${subject}.sql`, 'utf8'));
  return [head, tables, ...pieces].join('\n');
}

/**
 * The last migration with its lower part written anew: the functions, views and triggers of the
 * pieces that the migrations before it and its own upper part do not leave as they are in the
 * pieces, and all rights. The upper part (tables, rows, what is dropped) is written by hand.
 * `before`: the migrations before it, oldest first.
 */
export function joinMigration(migration: string, before: readonly string[]): string {
  const at = migration.indexOf(marker);
  if (at < 0) throw new Error(`the last migration lacks the line: ${marker}`);
  const upper = migration.slice(0, at);
  const standing = new Map<string, string>();
  for (const text of [...before, upper]) for (const statement of splitStatements(text)) note(standing, statement);
  const wanted = splitStatements(joinPieces()).filter(
    (statement) =>
      statement.startsWith('GRANT ') || (nameOf(statement) && standing.get(nameOf(statement)) !== statement),
  );
  return `${upper}${marker}\n${wanted.map((statement) => `${statement}\n`).join('\n')}`;
}

/**
 * Statements without the comments above them, each `CREATE` of what can be replaced as
 * `CREATE OR REPLACE`.
 */
function splitStatements(text: string): string[] {
  const statements: string[] = [];
  let lines: string[] = [];
  let quoted = false;
  for (const line of text.split('\n')) {
    if (lines.length === 0 && (line === '' || line.startsWith('--'))) continue;
    lines.push(line);
    if (line.split('$$').length % 2 === 0) quoted = !quoted;
    if (quoted || !line.endsWith(';')) continue;
    statements.push(lines.join('\n').replace(/^CREATE (?=FUNCTION|VIEW|TRIGGER)/, 'CREATE OR REPLACE '));
    lines = [];
  }
  return statements;
}

/** `FUNCTION public.lane_batch`, `TRIGGER halts_guard ON public.halts`; empty: of another kind. */
function nameOf(statement: string): string {
  const [, kind = '', name] = /^CREATE OR REPLACE (FUNCTION|VIEW|TRIGGER) ([\w.]+)/.exec(statement) ?? [];
  if (name === undefined) return '';
  return kind === 'TRIGGER' ? `${kind} ${name} ${/ON public\.\w+/.exec(statement)?.[0]}` : `${kind} ${name}`;
}

/** What a statement leaves behind: a table that goes takes its triggers with it. */
function note(standing: Map<string, string>, statement: string): void {
  const name = nameOf(statement);
  if (name !== '') standing.set(name, statement);
  const [, kind] = /^DROP (FUNCTION|VIEW|TABLE|TRIGGER)/.exec(statement) ?? [];
  if (kind === undefined) return;
  for (const dropped of statement.match(/public\.\w+/g) ?? []) {
    for (const key of standing.keys()) {
      if (key === `${kind} ${dropped}` || (kind === 'TABLE' && key.endsWith(` ON ${dropped}`))) standing.delete(key);
    }
  }
}
