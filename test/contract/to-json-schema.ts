import { z } from 'zod';

/** 2020-12 for OpenAPI 3.1 and AsyncAPI 3; draft-07 for validators that know no other. */
type JsonSchemaTarget = 'draft-2020-12' | 'draft-07';

/**
 * JSON Schema of a record, made by zod itself. `io: 'input'` leaves objects open: a reader must let
 * fields pass that it doesn't know. A rule that only code can check (which days a month has) is
 * looser here than in the zod shape.
 */
export function toJsonSchema(shape: z.ZodType, target: JsonSchemaTarget = 'draft-2020-12'): Record<string, unknown> {
  return z.toJSONSchema(shape, { target, io: 'input' });
}
