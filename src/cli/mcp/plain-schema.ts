import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import { withoutNulls } from '../../contract/command-bodies.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * The schema for clients that read no references: shapes in REST have names, so zod writes each
 * once and refers to it. None contains itself.
 */
export function plainSchema(schema: z.ZodType): StandardSchemaWithJSON {
  const standard = (schema as unknown as StandardSchemaWithJSON)['~standard'];
  const { input, output } = standard.jsonSchema;
  return {
    '~standard': {
      ...standard,
      jsonSchema: { input: (options) => plain(input(options)), output: (options) => plain(output(options)) },
    },
  };
}

/** Some assistants send each field that they leave out as null. Within a field a null stays. */
export function plainInput(schema: z.ZodType): StandardSchemaWithJSON {
  const { '~standard': standard } = plainSchema(schema);
  return { '~standard': { ...standard, validate: (value) => standard.validate(withoutNulls(value)) } };
}

function plain({ $defs, ...schema }: Json): Record<string, unknown> {
  return inPlace(schema, ($defs ?? {}) as Json) as Record<string, unknown>;
}

function inPlace(value: unknown, named: Json): unknown {
  if (Array.isArray(value)) return value.map((each) => inPlace(each, named));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, ...own } = value as Json;
  const meant = typeof $ref === 'string' ? (named[$ref.replace('#/$defs/', '')] as Json) : {};
  return Object.fromEntries(Object.entries({ ...meant, ...own }).map(([name, each]) => [name, inPlace(each, named)]));
}
