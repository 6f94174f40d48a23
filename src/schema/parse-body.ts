import type { z } from 'zod';

/** The fault of a body. `path` names the field (`legs[1].side`), empty for the body itself. */
export interface BodyFault {
  readonly path: string;
  readonly message: string;
}

export type BodyResult<T> =
  | ({ readonly ok: true } & T)
  | { readonly ok: false; readonly faults: readonly [BodyFault, ...BodyFault[]] };

/** More would not help a reader, and a body may have thousands. */
const mostFaults = 20;

/** Parses `body` by its shape; all faults at once, one a field, in the order of the shape. Values of the body are never repeated in a fault. */
export function parseBody<S extends z.ZodType, T extends object>(
  shape: S,
  body: unknown,
  read: (value: z.infer<S>) => T,
): BodyResult<T> {
  // An own `__proto__` (JSON.parse makes one) passes zod's search for unknown fields.
  if (typeof body === 'object' && body !== null && Object.hasOwn(body, '__proto__')) {
    return { ok: false, faults: [{ path: '__proto__', message: 'is not a field of this body' }] };
  }
  const parsed = shape.safeParse(body);
  if (parsed.success) return { ok: true, ...read(parsed.data) };
  const byPath = new Map<string, BodyFault>();
  // The first of a field is the plainest: "is no decimal" before "is not above zero".
  for (const found of parsed.error.issues.flatMap(faultsOf)) if (!byPath.has(found.path)) byPath.set(found.path, found);
  const [first = { path: '', message: 'is not what this route takes' }, ...others] = [...byPath.values()].slice(0, mostFaults);
  return { ok: false, faults: [first, ...others] };
}

function faultsOf(issue: z.core.$ZodIssue): BodyFault[] {
  const path = pathText(issue.path);
  if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }];
  return issue.keys.map((key) => ({
    path: path === '' ? shown(key) : `${path}.${shown(key)}`,
    message: 'is not a field of this body',
  }));
}

function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) text += typeof part === 'number' ? `[${part}]` : `${text === '' ? '' : '.'}${String(part)}`;
  return text;
}

/** An unknown name is the caller's text: cut, and safe to print. */
function shown(key: string): string {
  return JSON.stringify(key.toWellFormed().slice(0, 50)).slice(1, -1);
}
