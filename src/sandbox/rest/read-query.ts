import type { z } from 'zod';

/**
 * Reads a query string by its shape: texts become numbers and booleans where the shape wants them. Answers with what is wrong instead, naming the
 * parameter. Parameters that the shape doesn't know are ignored, as web servers do.
 */
export function readQuery<Shape extends z.ZodObject>(
  shape: Shape,
  query: unknown,
): { readonly value: z.output<Shape> } | { readonly fault: string } {
  const given: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(query as Readonly<Record<string, unknown>>)) {
    const field = Object.hasOwn(shape.shape, name) ? shape.shape[name] : undefined;
    if (field === undefined) continue;
    if (typeof text !== 'string') return { fault: `${name} is given twice` };
    given[name] = fromText(kindOf(field), text);
  }
  const read = shape.safeParse(given);
  if (read.success) return { value: read.data };
  const [issue] = read.error.issues;
  return { fault: `${issue?.path.join('.')}: ${issue?.message}` };
}

/** The type inside of `optional`. */
function kindOf(field: z.core.$ZodType): string {
  const { def } = field._zod;
  return def.type === 'optional' ? kindOf((def as z.core.$ZodOptionalDef).innerType) : def.type;
}

/** A text that doesn't fit stays a text, which the shape then refuses. */
function fromText(kind: string, text: string): unknown {
  if (kind === 'number') return /^-?(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : text;
  if (kind === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  return text;
}
