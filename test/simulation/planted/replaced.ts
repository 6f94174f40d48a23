/**
 * Another method in place of one of a class, for the time of a
 * run: plants it, and returns the way back.
 */
export function replaced<T extends object>(
  of: { readonly prototype: T },
  name: keyof T,
  by: (this: T, ...call: never[]) => unknown,
): () => () => void {
  return () => {
    const original = Object.getOwnPropertyDescriptor(of.prototype, name);
    if (original === undefined) throw new Error(`${String(name)} is no method any more: this bug plants nothing`);
    Object.defineProperty(of.prototype, name, { ...original, value: by });
    return () => {
      Object.defineProperty(of.prototype, name, original);
    };
  };
}
