import { z } from 'zod';

export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * The named schemas among `shapes` and inside them, each once, referring to each other under `root` (`#/components/schemas/`). `io: 'input'`: answers stay open for
 * fields of later versions; bodies are strict and say so.
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
  return Object.fromEntries(
    Object.entries(all)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([id, { $schema: _dialect, $id: _place, id: _id, title, description = title, ...schema }]) => [
        id,
        // Generators of clients make the name of a class from the title.
        { title: id, ...(description === undefined ? {} : { description }), ...schema },
      ]),
  );
}

/** The name that the shape was given by `.meta({ id })`. */
export function schemaId(shape: z.ZodType): string | undefined {
  return shape.meta()?.id;
}
