/** A value as a row has it, under the same names: null where the value has no such field. */
export type RowOf<T> = {
  readonly [K in keyof T]-?: Exclude<T[K], undefined> | (undefined extends T[K] ? null : never);
};

/** The value in a row that has it under its own names. */
export function fromRow<T extends object>(row: RowOf<T>): T {
  return nonNull(row) as T;
}

/** The same without null fields. */
export function nonNull<T extends object>(row: T): { [K in keyof T]?: Exclude<T[K], null> } {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as {
    [K in keyof T]?: Exclude<T[K], null>;
  };
}

/**
 * A stored row came, and can't be read: it is not JSON, or has another shape than any build of ours
 * wrote. To ask again would not help, and other rows are as they were: so a read of many goes
 * on with the others (`readableRows`), and only a read of this one has no answer.
 */
export class UnreadableRowError extends Error {
  readonly code = 'UNREADABLE_ROW';
  readonly retryable = false;
  readonly table: string;
  readonly key: string;
  /** Why, for people. */
  readonly fault: string;

  constructor(table: string, key: string, cause: unknown) {
    super(`the row ${key} of ${table} can't be read`, { cause });
    this.fault = cause instanceof Error ? cause.message : String(cause);
    this.name = 'UnreadableRowError';
    this.table = table;
    this.key = key;
  }
}

/** The one way from a stored row to a value of ours. Rejects with `UnreadableRowError` alone. */
export function readRow<T>(table: string, key: string, decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    throw new UnreadableRowError(table, key, cause);
  }
}

/** The rows that can be read, in their order; each other one goes to `unreadable`. */
export function readableRows<Row, T>(
  rows: readonly Row[],
  decode: (row: Row) => T,
  unreadable: (error: UnreadableRowError, row: Row) => void,
): T[] {
  const found: T[] = [];
  for (const row of rows) {
    try {
      found.push(decode(row));
    } catch (error) {
      if (!(error instanceof UnreadableRowError)) throw error;
      unreadable(error, row);
    }
  }
  return found;
}
