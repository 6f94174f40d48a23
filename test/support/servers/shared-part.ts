/**
 * A part that several vitest projects of one process ask for:
 * started by the first, stopped by the last.
 */
interface SharedPart<T> {
  users: number;
  starting: Promise<T>;
}

// Each project loads the global setups as modules of its own;
// only the global object is common to them.
const parts = globalThis as unknown as Record<symbol, SharedPart<{ stop(): Promise<void> }> | undefined>;

/**
 * The part called `name`, started when nobody has; `release` stops it when nobody else uses it. A
 * failed start is told to every user.
 */
export async function shared<T extends { stop(): Promise<void> }>(
  name: string,
  start: () => Promise<T>,
): Promise<{ part: T; release: () => Promise<void> }> {
  const key = Symbol.for(`tidemark.test.${name}`);
  parts[key] ??= { users: 0, starting: start() };
  const entry = parts[key] as SharedPart<T>;
  entry.users += 1;
  const part = await entry.starting;
  const release = async () => {
    entry.users -= 1;
    if (entry.users > 0) return;
    delete parts[key];
    await part.stop();
  };
  return { part, release };
}
