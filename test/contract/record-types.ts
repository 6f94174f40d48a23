import { z } from 'zod';
import { commandResultRecord } from '../../src/contract/command-result.ts';
import { decimal, instant, int64 } from '../../src/contract/normalised-order.ts';
import { updateRecord, watermarkRecord } from '../../src/contract/update-record.ts';

const head = [
  '/**',
  " * The records on Tidemark's topics, for consumers: `import type { OrderUpdate } from 'tidemark/records'`. Types only; they need nothing else of the package.",
  ' *',
  ' * Objects are open: a later minor version may add fields, and words to what is typed as `string`. docs/consuming.md says how the records are to be read.',
  ' *',
  ' * Made from src/contract/: npx vitest run -u --project unit test/contract/record-types.test.ts',
  ' */',
  '',
  '/** An exact decimal as text, in canonical form: no exponent, no leading or trailing zeros. Never a JavaScript number. */',
  'export type DecimalText = string;',
  '/** An int64 as text: it may be above 2^53. `BigInt(text)` reads it. */',
  'export type Int64Text = string;',
  '/** ISO 8601 with `Z` or an offset. */',
  'export type Instant = string;',
  '',
].join('\n');
const texts = new Map<z.core.$ZodType, string>([
  ...([
    [decimal, 'DecimalText'],
    [int64, 'Int64Text'],
    [instant, 'Instant'],
  ] as const),
]);
const columns = 120;

/** `types/records.d.ts`: a type for each shape with a name, the inner ones first. */
export function recordTypes(): string {
  const written = new Map<string, string>();
  for (const shape of [updateRecord, watermarkRecord, commandResultRecord]) typeOf(shape, written);
  return [head, ...written.values()].join('\n');
}

/** The type of a place. A shape with a name is written once and then named. */
function typeOf(shape: z.core.$ZodType, written: Map<string, string>): string {
  const name = nameOf(shape);
  if (name === undefined) return plainType(shape, written);
  if (![...texts.values()].includes(name) && !written.has(name)) {
    const type = plainType(shape, written);
    const words = commentOf(shape, '');
    written.set(name, `${words}${isObject(shape) ? `export interface ${name} ${type}` : aliasOf(name, type)}\n`);
  }
  return name;
}

function aliasOf(name: string, type: string): string {
  const line = `export type ${name} = ${type};`;
  return line.length <= columns ? line : `export type ${name} =\n  | ${type.replaceAll(' | ', '\n  | ')};`;
}

/** By `.meta({ id })`; `describe` makes a shape with its own words from the one with the name. */
function nameOf(shape: z.core.$ZodType): string | undefined {
  for (let at: z.core.$ZodType | undefined = shape; at !== undefined; at = at._zod.parent) {
    const name = texts.get(at) ?? z.globalRegistry.get(at)?.id;
    if (name !== undefined) return name;
  }
  return undefined;
}

function plainType(shape: z.core.$ZodType, written: Map<string, string>): string {
  const { def } = (shape as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object':
      return objectType(def.shape, written);
    case 'array':
      return `readonly ${typeOf(def.element, written)}[]`;
    case 'record':
      return `Readonly<Record<${typeOf(def.keyType, written)}, ${typeOf(def.valueType, written)}>>`;
    case 'enum':
      return Object.values(def.entries).map(quoted).join(' | ');
    case 'literal':
      return def.values.map(quoted).join(' | ');
    case 'string':
    case 'number':
    case 'boolean':
    case 'unknown':
      return def.type;
    default:
      throw new Error(`records have no ${def.type} so far: say here how it is written`);
  }
}

function objectType(fields: Readonly<Record<string, z.core.$ZodType>>, written: Map<string, string>): string {
  const lines = Object.entries(fields).map(([name, field]) => {
    const { def } = (field as z.core.$ZodTypes)._zod;
    const isOptional = def.type === 'optional';
    const type = typeOf(isOptional ? def.innerType : field, written).replaceAll('\n', '\n  ');
    return `${commentOf(field, '  ')}  readonly ${name}${isOptional ? '?' : ''}: ${type};\n`;
  });
  return `{\n${lines.join('')}}`;
}

/** What is said of a shape at its place. What is said of a named one stands at its type. */
function commentOf(shape: z.core.$ZodType, indent: string): string {
  const { def } = (shape as z.core.$ZodTypes)._zod;
  const isNamedElsewhere = indent !== '' && (texts.has(shape) || z.globalRegistry.get(shape)?.id !== undefined);
  const said = isNamedElsewhere ? undefined : z.globalRegistry.get(shape)?.description;
  if (said !== undefined) return `${indent}/** ${said} */\n`;
  return def.type === 'optional' ? commentOf(def.innerType, indent) : '';
}

function isObject(shape: z.core.$ZodType): boolean {
  return (shape as z.core.$ZodTypes)._zod.def.type === 'object';
}

function quoted(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value);
}
