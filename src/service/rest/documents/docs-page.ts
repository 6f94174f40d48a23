import { hash } from 'node:crypto';
import type { JsonSchema } from './component-schemas.ts';
import type { OpenapiDocument, Operation, Response } from './openapi-document.ts';

const style = `
:root{color-scheme:light dark;--line:light-dark(#d8dee4,#30363d);--soft:light-dark(#57606a,#8b949e);--mark:light-dark(#f6f8fa,#161b22)}
body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:0 auto;padding:2rem 1rem;color:light-dark(#1f2328,#e6edf3);background:light-dark(#fff,#0d1117)}
h1{margin-top:0}h2{margin-top:3rem;border-bottom:1px solid var(--line)}a{color:light-dark(#0969da,#4493f8)}
code{font:.875em ui-monospace,monospace;background:var(--mark);padding:.1em .3em;border-radius:4px;overflow-wrap:anywhere}
details{border:1px solid var(--line);border-radius:6px;margin:.6rem 0;padding:.5rem .8rem}summary{cursor:pointer}
summary b{display:inline-block;min-width:4.5rem;font:600 .8rem ui-monospace,monospace}
table{border-collapse:collapse;width:100%;margin:.5rem 0 1rem}th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;border-top:1px solid var(--line)}
th{font-weight:600}.soft{color:var(--soft)}`;

/** Nothing is loaded and nothing runs; the one style is allowed by its hash. */
export const docsPagePolicy = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;

/**
 * OpenAPI as a page for people: every route with its parameters, body and answers, and every schema
 * they name.
 */
export function docsPage({ info, tags, paths, components }: OpenapiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const sections = tags.map(({ name, description }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name));
    return `<h2>${escapeHtml(name)}</h2><p>${prose(description)}.</p>${own.map(({ path, method, operation }) => operationHtml(method, path, operation)).join('')}`;
  });
  const schemas = Object.entries(components.schemas).map(([name, schema]) => schemaHtml(name, schema));
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${escapeHtml(info.title)} ${escapeHtml(info.version)}</title><style>${style}</style></head><body><main><h1>${escapeHtml(info.title)} <span class="soft">${escapeHtml(info.version)}</span></h1><p>${prose(info.description)}</p><p>For programs: <a href="/openapi.json">OpenAPI 3.1</a>, <a href="/asyncapi.json">AsyncAPI 3</a>.</p>${sections.join('')}<h2>schemas</h2>${schemas.join('')}</main></body></html>`;
}

function operationHtml(method: string, path: string, operation: Operation): string {
  const { summary, description, parameters = [], requestBody, responses, operationId } = operation;
  const body = requestBody?.content['application/json']?.schema;
  const rows = parameters.map(
    ({ name, in: where, required, description: text = '', schema }) =>
      `<tr><td><code>${escapeHtml(name)}</code></td><td>${where}${required ? '' : ', optional'}</td><td>${prose(text)} ${constraint(schema)}</td></tr>`,
  );
  return [
    `<details id="${escapeHtml(operationId)}"><summary><b>${method}</b> <code>${escapeHtml(path)}</code> ${escapeHtml(summary)}</summary>`,
    description === undefined ? '' : `<p>${prose(description)}</p>`,
    `<p class="soft">${escapeHtml(scopesOf(operation))}</p>`,
    rows.length === 0 ? '' : `<table><tr><th>parameter</th><th>in</th><th>meaning</th></tr>${rows.join('')}</table>`,
    body === undefined ? '' : `<p>Body: ${refHtml(body)}</p>`,
    `<table><tr><th>status</th><th>answer</th></tr>${Object.entries(responses).map(responseHtml).join('')}</table></details>`,
  ].join('');
}

function scopesOf({ security }: Operation): string {
  const scopes = security.flatMap((requirement) => Object.values(requirement as Record<string, string[]>).flat());
  return scopes.length === 0 ? 'no token needed' : `scope ${scopes.join(' or ')}`;
}

function responseHtml([status, { description, content = {} }]: [string, Response]): string {
  const schema = Object.values(content)[0]?.schema;
  const named = schema !== undefined && '$ref' in schema && Number(status) < 400 ? `: ${refHtml(schema)}` : '';
  return `<tr><td>${status}</td><td>${prose(description)}${named}</td></tr>`;
}

function schemaHtml(name: string, schema: JsonSchema): string {
  const rows = fieldRows(schema).map(
    ({ path, type, required, ref, text }) =>
      `<tr><td><code>${escapeHtml(path)}</code></td><td>${ref === undefined ? escapeHtml(type) : refHtml({ $ref: ref })}${required ? '' : ', optional'}</td><td>${prose(text)}</td></tr>`,
  );
  const text = typeof schema['description'] === 'string' ? schema['description'] : '';
  return `<details id="schema-${escapeHtml(name)}"><summary><code>${escapeHtml(name)}</code> ${escapeHtml(text)}</summary><table><tr><th>field</th><th>type</th><th>meaning</th></tr>${rows.join('')}</table></details>`;
}

function refHtml(schema: JsonSchema): string {
  const name =
    String(schema['$ref'] ?? '')
      .split('/')
      .at(-1) ?? '';
  return `<a href="#schema-${escapeHtml(name)}"><code>${escapeHtml(name)}</code></a>`;
}

function constraint({ type, enum: words, pattern }: JsonSchema): string {
  if (Array.isArray(words)) return words.map((word) => `<code>${escapeHtml(String(word))}</code>`).join(' ');
  if (typeof pattern === 'string') return `<code>${escapeHtml(pattern)}</code>`;
  return typeof type === 'string' && type !== 'string' ? escapeHtml(type) : '';
}

/** Our own texts with code between backticks. */
function prose(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

interface FieldRow {
  /** `legs[].symbol` */
  readonly path: string;
  readonly type: string;
  readonly required: boolean;
  /** The reference to another named schema. */
  readonly ref?: string;
  readonly text: string;
}

/** An object schema's fields, those of nested objects and lists under their path. */
function fieldRows(schema: JsonSchema, prefix = ''): FieldRow[] {
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

/** For a field that is one of several objects: each one's fields, one after the other. */
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
