import { z } from 'zod';

export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * The named schemas among `shapes` and inside them, each once, referring to each other under `root`
 * (`#/components/schemas/`). `io: 'input'`: answers stay open for later versions' fields; bodies
 * are strict and say so.
 */
export function componentSchemas(shapes: readonly z.ZodType[], root: string): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const shape of shapes) {
    const id = schemaId(shape);
    if (id !== undefined && !registry.has(shape)) registry.add(shape, { id });
  }
  const { schemas } = z.toJSONSchema(registry, { io: 'input', uri: (id) => `${root}${id}` });
  // zod puts named shapes that occur only inside others into one separate schema.
  const { __shared: shared = {}, ...own } = JSON.parse(
    JSON.stringify(schemas).replaceAll(`${root}__shared#/$defs/`, root),
  ) as Record<string, Record<string, unknown>>;
  const all = { ...own, ...((shared['$defs'] ?? {}) as Record<string, Record<string, unknown>>) };
  const named = Object.fromEntries(
    Object.entries(all)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, { $schema: _dialect, $id: _place, id: _id, title, description = title, ...schema }]) => [
        id,
        // Client generators make a class's name from the title.
        {
          title: id,
          description,
          ...withVarnames(id, withTypeNull(schema, all, root)),
        },
      ]),
  );
  return withoutUnused(named, new Set(Object.keys(own)), root);
}

/**
 * Once `withTypeNull` has written a shape out in every place, none names it any more, and linters
 * refuse it. `asked`: these stay.
 */
function withoutUnused(
  schemas: Readonly<Record<string, JsonSchema>>,
  asked: ReadonlySet<string>,
  root: string,
): Record<string, JsonSchema> {
  const text = JSON.stringify(schemas);
  const used = Object.entries(schemas).filter(([id]) => asked.has(id) || text.includes(`"${root}${id}"`));
  const left = Object.fromEntries(used);
  return used.length === Object.keys(schemas).length ? left : withoutUnused(left, asked, root);
}

/**
 * A named enum's constants begin with its name (`RESULT_WORD_REJECTED`): generators for Go and C
 * put them all into one scope, and `rejected` is a word in four enums.
 */
function withVarnames(id: string, schema: JsonSchema): JsonSchema {
  const { enum: words } = schema;
  if (!Array.isArray(words)) return schema;
  return { ...schema, 'x-enum-varnames': words.map((word) => constantOf(`${id}_${String(word)}`)) };
}

function constantOf(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/\W+/g, '_')
    .toUpperCase();
}

/**
 * `anyOf` of a shape and null as one shape with two types: more generators know this form. A named
 * shape is written out, without its name: beside `$ref` no type can be added.
 */
function withTypeNull<T>(part: T, all: Readonly<Record<string, JsonSchema>>, root: string): T {
  if (Array.isArray(part)) return part.map((each: unknown) => withTypeNull(each, all, root)) as T;
  if (typeof part !== 'object' || part === null) return part;
  const { anyOf, ...rest } = part as JsonSchema;
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || anyOf[1]?.type !== 'null')
    return Object.fromEntries(Object.entries(part).map(([name, each]) => [name, withTypeNull(each, all, root)])) as T;
  const [shape] = anyOf as [JsonSchema];
  const ref = shape['$ref'];
  const {
    $schema: _dialect,
    $id: _place,
    id: _id,
    title: _name,
    ...plain
  } = typeof ref === 'string' ? (all[ref.slice(root.length)] ?? shape) : shape;
  const { type, enum: words } = plain;
  if (typeof type !== 'string') return part;
  const either = { ...plain, type: [type, 'null'], ...(Array.isArray(words) && { enum: [...words, null] }) };
  return withTypeNull({ ...either, ...rest }, all, root) as T;
}

/** The shape's name from `.meta({ id })`. */
export function schemaId(shape: z.ZodType): string | undefined {
  return shape.meta()?.id;
}
