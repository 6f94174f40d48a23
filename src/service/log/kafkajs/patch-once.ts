const patched = Symbol.for('tidemark.kafkajs-patched');

/**
 * Gives kafkajs 2.2.4 our version of one of its methods, once. It changes the package's internals
 * by path, so the version is pinned, and tests check each behaviour. Throws if the method is gone.
 */
export function patchOnce<Name extends string, Owner extends Record<Name, (...args: never[]) => unknown>>(
  owner: Owner,
  name: Name,
  ours: (original: Owner[Name]) => Owner[Name],
): void {
  const original: Owner[Name] & { readonly [patched]?: true } = owner[name];
  if (typeof original !== 'function') throw new Error(`kafkajs: ${name} is gone; see src/service/log/kafkajs/`);
  if (original[patched]) return;
  owner[name] = Object.assign(ours(original), { [patched]: true });
}
