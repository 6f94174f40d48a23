import { describe, expect, it } from 'vitest';
import { problemAnswer } from '../../../src/contract/rest-answers.ts';
import { MadeDocuments } from '../../../src/service/rest/documents/asyncapi-document.ts';
import { schemaId } from '../../../src/service/rest/documents/component-schemas.ts';
import { allExamples } from '../../../src/service/rest/documents/examples/find-examples.ts';
import { problemCodes } from '../../../src/service/rest/problem-codes.ts';
import { routeTable } from '../../../src/service/rest/route-table.ts';

const documents = new MadeDocuments(routeTable, '1.0.0');

type Json = Record<string, unknown>;
interface Media {
  readonly examples?: Readonly<Record<string, { readonly $ref?: string; readonly value?: unknown }>>;
}
const openapi = JSON.parse(documents.openapi) as {
  paths: Record<
    string,
    Record<string, { operationId: string; requestBody?: { content: Record<string, Media> }; responses: Json }>
  >;
  components: { schemas: Record<string, Json>; examples: Record<string, { summary: string; value?: unknown }> };
};
const operations = Object.values(openapi.paths).flatMap((item) => Object.values(item));

/** Each body of the document, with a name that a failure can show. */
function bodies(): [string, Media][] {
  return operations.flatMap(({ operationId, requestBody, responses }) => [
    ...Object.values(requestBody?.content ?? {}).map((media): [string, Media] => [`${operationId}: its body`, media]),
    ...Object.entries(responses as Record<string, { content?: Record<string, Media> }>).flatMap(
      ([status, { content = {} }]) =>
        Object.values(content).map((media): [string, Media] => [`${operationId}: ${status}`, media]),
    ),
  ]);
}

describe('the examples of the documents', () => {
  it.each(allExamples.map((each) => [`${schemaId(each.shape)} ${each.name}`, each] as const))(
    '%s is what its shape takes, with no field that the shape does not name',
    (_name, { shape, value }) => {
      const parsed = shape.safeParse(value);
      expect(parsed.error?.issues).toBeUndefined();
      // Shapes are open and drop a field that they do not name, at any depth.
      expect(parsed.data).toMatchObject(value as object);
    },
  );

  it('are there for every body and every answer: add one in src/service/rest/documents/examples/', () => {
    const without = bodies().filter(([, { examples = {} }]) => Object.keys(examples).length === 0);
    expect(without.map(([name]) => name)).toEqual([]);
  });

  it('are there for every code of every problem, each as it is answered', () => {
    const { examples } = openapi.components;
    const without = Object.entries(examples).filter(([, { value }]) => value === undefined);
    expect(without.map(([name]) => name)).toEqual([]);
    for (const [name, { value }] of Object.entries(examples)) {
      expect(problemAnswer.strict().safeParse(value).error?.issues, name).toBeUndefined();
      expect(value).toMatchObject({ status: Number(name.split('.')[0]), code: name.split('.')[1] });
    }
  });

  it('have every code, but for those that are answered before or beside all routes', () => {
    const answered = new Set(Object.values(openapi.components.examples).map(({ summary }) => summary));
    expect(problemCodes.filter((code) => !answered.has(code))).toEqual([
      ...['CONSOLE_UNAVAILABLE', 'DEMO_AWAY', 'HEADERS_TOO_LARGE', 'HOST_NOT_LOOPBACK', 'HOST_NOT_NAMED'],
      ...['METHOD_NOT_ALLOWED', 'NOT_FOUND', 'NOT_HTTP', 'REQUEST_TIMEOUT', 'TOO_MANY_CONNECTIONS', 'TOO_MANY_HEADERS'],
      ...['TOO_SLOW', 'UNKNOWN_ROLE', 'UNREADABLE_ROW', 'URL_TOO_LONG'],
    ]);
  });

  it('belong to operations that exist', () => {
    const names = new Set(operations.map(({ operationId }) => operationId));
    for (const { operationId } of allExamples) if (operationId !== undefined) expect(names).toContain(operationId);
  });

  it('show a refusal by the platform as 200, since the command has an id', () => {
    const place = operations.find(({ operationId }) => operationId === 'placeOrder');
    expect(place?.responses['200']).toMatchObject({
      content: { 'application/json': { examples: { refused: { value: { result: 'refused' } } } } },
    });
  });

  it('are there for every message of AsyncAPI', () => {
    const { channels } = JSON.parse(documents.asyncapi) as {
      channels: Record<string, { messages: Record<string, { examples: { payload: unknown }[] }> }>;
    };
    for (const [name, { messages }] of Object.entries(channels))
      for (const { examples } of Object.values(messages)) expect(examples.length, name).toBeGreaterThan(0);
  });
});

describe('the schemas of the documents', () => {
  it('have titles that are names of classes, each with a description', () => {
    for (const [id, { title, description }] of Object.entries(openapi.components.schemas)) {
      expect(title).toBe(id);
      expect(id).toMatch(/^[A-Z][A-Za-z]+$/);
      expect(description, id).toMatch(/^\S+ \S+/);
    }
  });

  it('belong to one shape each', () => {
    const shapes = routeTable.flatMap(({ body, answers }) => [
      body,
      ...Object.values(answers).map(({ schema }) => schema),
    ]);
    const byId = new Map<string, unknown>();
    for (const shape of shapes) {
      if (shape === undefined) continue;
      const id = schemaId(shape) ?? '';
      expect(byId.get(id) ?? shape, id).toBe(shape);
      byId.set(id, shape);
    }
  });
});
