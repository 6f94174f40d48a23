import type { Service } from '../../runtime/service.ts';

/** Something that needs no start, only an end, as a step of the shutdown plan. */
export function closing(name: string, close: (signal: AbortSignal) => Promise<void>): Service {
  return { name, start: async () => undefined, drain: close };
}
