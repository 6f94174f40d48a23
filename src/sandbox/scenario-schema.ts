import { z } from 'zod';
import { sandboxOptions } from './sandbox-options.ts';

/** JSON Schema (2020-12) of a scenario file, for editors and for those who generate one. */
export function scenarioSchema(): Record<string, unknown> {
  return JSON.parse(JSON.stringify(z.toJSONSchema(sandboxOptions, { io: 'input', unrepresentable: 'any' }))) as Record<
    string,
    unknown
  >;
}
