import fc from 'fast-check';
import { z } from 'zod';

/** The part of JSON Schema that the request shapes of `platform/wire` come to. */
interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | object;
}

/**
 * One keyword of a schema that a value is to break, and values that
 * break it. `field` is empty for the whole.
 */
interface Break {
  readonly field: string;
  readonly keyword: string;
  readonly values: fc.Arbitrary<unknown>;
}

type Known = Readonly<Record<string, fc.Arbitrary<unknown>>>;

export function schemaOf(shape: z.ZodType): Schema {
  return z.toJSONSchema(shape, { io: 'input' }) as Schema;
}

/**
 * Values that a schema allows. `known` replaces fields of the
 * outermost object whose values have to exist, too.
 */
export function arbitraryOf(schema: Schema, known: Known = {}): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((it) => arbitraryOf(it)));
  switch (schema.type) {
    case 'object':
      return objectOf(schema, known);
    case 'array':
      return fc.array(arbitraryOf(schema.items ?? {}), {
        minLength: schema.minItems ?? 0,
        maxLength: schema.maxItems ?? 5,
      });
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -1000, max: Math.min(schema.maximum ?? 1000, 2 ** 31) });
    case 'boolean':
      return fc.boolean();
    case 'string':
      return textOf(schema);
    default:
      throw new Error(`no arbitrary for ${JSON.stringify(schema)}`);
  }
}

function objectOf({ properties = {}, required = [] }: Schema, known: Known): fc.Arbitrary<unknown> {
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, it]) => [name, known[name] ?? arbitraryOf(it)]),
  );
  return fc.record(fields, { requiredKeys: [...required], noNullPrototype: true });
}

function textOf({ pattern, format, minLength = 0, maxLength = 64 }: Schema): fc.Arbitrary<string> {
  if (format === 'date')
    return fc
      .date({ min: new Date('1970-01-01T00:00:00Z'), max: new Date('2100-01-01T00:00:00Z'), noInvalidDate: true })
      .map((date) => date.toISOString().slice(0, 10));
  if (format === 'date-time')
    return fc
      .date({ min: new Date('1970-01-01T00:00:00Z'), max: new Date('2100-01-01T00:00:00Z'), noInvalidDate: true })
      .map((date) => date.toISOString());
  const fits = (text: string) => text.length >= minLength && text.length <= maxLength;
  if (format === 'email') return fc.stringMatching(/^[a-z0-9]{1,20}@[a-z]{1,20}\.example$/);
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern)).filter(fits);
  return fc.string({ minLength, maxLength });
}

/**
 * Every way to break exactly one keyword of an object, its fields and the items of its lists.
 * `isText`: all values go over the wire as text.
 */
export function breaksOf(schema: Schema, options: { readonly isText: boolean }): Break[] {
  const breaks: Break[] = [];
  for (const [field, it] of Object.entries(schema.properties ?? {})) {
    if (schema.required?.includes(field)) breaks.push({ field, keyword: 'required', values: fc.constant(undefined) });
    for (const [keyword, values] of valueBreaks(it, options.isText)) breaks.push({ field, keyword, values });
  }
  if (schema.additionalProperties === false && !options.isText)
    breaks.push({ field: 'unheardOf', keyword: 'additionalProperties', values: fc.constant('x') });
  return breaks;
}

function valueBreaks(schema: Schema, isText: boolean): [string, fc.Arbitrary<unknown>][] {
  const found: [string, fc.Arbitrary<unknown>][] = [];
  const { minLength = 0, maxLength, minimum, maximum, pattern, items, maxItems } = schema;
  if (minLength > 0) found.push(['minLength', fc.string({ maxLength: minLength - 1 })]);
  if (maxLength !== undefined)
    found.push(['maxLength', fc.string({ minLength: maxLength + 1, maxLength: maxLength + 40 })]);
  if (minimum !== undefined && minimum > -(2 ** 53))
    found.push(['minimum', fc.integer({ min: -(2 ** 31), max: minimum - 1 })]);
  if (maximum !== undefined && maximum < 2 ** 53 - 1)
    found.push(['maximum', fc.integer({ min: maximum + 1, max: 2 ** 31 })]);
  if (schema.enum !== undefined) found.push(['enum', otherText((text) => schema.enum?.includes(text) === true)]);
  if (pattern !== undefined) found.push(['pattern', otherText((text) => new RegExp(pattern).test(text))]);
  if (schema.anyOf !== undefined) found.push(['anyOf', otherText((text) => schema.anyOf?.some(allows(text)) === true)]);
  if (schema.type === 'integer' || schema.type === 'boolean')
    found.push(['type', fc.constantFrom('', 'x', '1e3', '0x1', ' 1', '1.5', '\u0661', 'TRUE', 'null')]);
  if (items !== undefined && maxItems !== undefined)
    found.push(['maxItems', fc.array(arbitraryOf(items), { minLength: maxItems + 1, maxLength: maxItems + 3 })]);
  if (items !== undefined)
    for (const [keyword, values] of valueBreaks(items, isText))
      found.push([`items.${keyword}`, values.map((value) => [value])]);
  if (!isText && (schema.type === 'string' || schema.enum !== undefined)) found.push(['type', notText]);
  if (!isText && schema.type === 'array') found.push(['type', fc.constantFrom('x', 1, true, {}, null)]);
  return found;
}

const notText = fc.constantFrom<unknown[]>(1, 1.5, true, [], {}, null, [[]]);

function otherText(allowed: (text: string) => boolean): fc.Arbitrary<string> {
  return fc.string({ minLength: 1, maxLength: 30 }).filter((text) => !allowed(text));
}

function allows(text: string): (schema: Schema) => boolean {
  return ({ pattern }) => pattern === undefined || new RegExp(pattern).test(text);
}
