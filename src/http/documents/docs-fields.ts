import type { JsonSchema } from './component-schemas.ts';

export interface FieldRow {
  /** `legs[].symbol` */
  readonly path: string;
  readonly type: string;
  readonly required: boolean;
  /** Of another named schema. */
  readonly ref?: string;
  readonly text: string;
}

/** The fields of an object schema, those of nested objects and lists under their path. */
export function fieldRows(schema: JsonSchema, prefix = ''): FieldRow[] {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>;
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  return Object.entries(properties).flatMap(([name, field]) => {
    const isList = field['type'] === 'array';
    const inner = isList ? ((field['items'] ?? {}) as JsonSchema) : field;
    const path = `${prefix}${name}${isList ? '[]' : ''}`;
    const ref = inner['$ref'];
    const row: FieldRow = {
      path,
      type: typeOf(inner),
      required: required.includes(name),
      ...(typeof ref === 'string' ? { ref } : {}),
      text: [field['description'], wordsOf(inner)].filter((part) => typeof part === 'string').join(' '),
    };
    return [row, ...[inner, ...variantsOf(inner)].flatMap((schema) => fieldRows(schema, `${path}.`))];
  });
}

/** Of a field that is one of several objects: the fields of each, one after the other. */
function variantsOf({ oneOf, anyOf }: JsonSchema): readonly JsonSchema[] {
  const variants = oneOf ?? anyOf;
  return Array.isArray(variants) ? variants : [];
}

function typeOf(schema: JsonSchema): string {
  if (typeof schema['type'] === 'string') return schema['type'];
  return 'const' in schema ? 'string' : Array.isArray(schema['oneOf'] ?? schema['anyOf']) ? 'one of several' : '';
}

function wordsOf({ enum: words, const: word }: JsonSchema): string | undefined {
  if (Array.isArray(words)) return words.map((each) => `\`${String(each)}\``).join(' ');
  return word === undefined ? undefined : `\`${String(word)}\``;
}
