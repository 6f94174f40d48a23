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
