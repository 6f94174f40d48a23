/** How often each planted method was called, by its name, since `forgetCalls`. */
const calls = new Map<string, number>();

/** A run with other plants begins. */
export function forgetCalls(): void {
  calls.clear();
}

/** The planted methods that were called, and those that were not. */
export function plantedCalls(): { readonly called: readonly string[]; readonly never: readonly string[] } {
  const names = (wanted: boolean) => [...calls].filter(([, count]) => count > 0 === wanted).map(([name]) => name);
  return { called: names(true), never: names(false) };
}

type Method = (...call: never[]) => unknown;

/** The same method, and its calls are counted. */
function counted<M extends Method>(name: string, by: M): M {
  calls.set(name, calls.get(name) ?? 0);
  return function (this: unknown, ...call: never[]) {
    calls.set(name, (calls.get(name) ?? 0) + 1);
    return by.apply(this, call);
  } as M;
}

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
    if (typeof original?.value !== 'function')
      throw new Error(`${String(name)} is no method any more: this bug plants nothing`);
    const { name: className } = of as unknown as { readonly name: string };
    Object.defineProperty(of.prototype, name, { ...original, value: counted(`${className}.${String(name)}`, by) });
    return () => {
      Object.defineProperty(of.prototype, name, original);
    };
  };
}

/** The same object, but for these parts of it. Each has to be one that the object has. */
export function instead<T extends object>(whole: T, parts: Partial<T>): T {
  const planted = Object.entries(parts).map(([name, part]) => {
    if (!(name in whole)) throw new Error(`${name} is no part any more: this bug plants nothing`);
    return [name, typeof part === 'function' ? counted(name, part as Method) : part] as const;
  });
  return Object.assign(Object.create(whole), Object.fromEntries(planted));
}
