import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { idKinds, idsIn } from '../../../src/service/rest/request-fields.ts';
import { routeTable } from '../../../src/service/rest/route-table.ts';
import { ask, startRest } from '../../support/rest/rest-rig.ts';

let rig: Awaited<ReturnType<typeof startRest>>;
beforeAll(async () => {
  rig = await startRest();
});
afterAll(() => rig.server.drain(new AbortController().signal));

type Json = Record<string, unknown>;

async function openapi() {
  const { body } = await ask(`${rig.address}/openapi.json`);
  return body as {
    openapi: string;
    info: Json;
    paths: Record<string, Record<string, Json>>;
    components: { schemas: Json };
  };
}

/** Every `$ref` of a document, wherever it stands. */
function refs(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? [inner] : refs(inner),
  );
}

function resolve(document: unknown, ref: string): unknown {
  return ref
    .slice(2)
    .split('/')
    .reduce<unknown>((at, part) => (at as Json)?.[part], document);
}

describe('/openapi.json', () => {
  it('has every route of the table, with its operation, its scopes and its answers, and nothing else', async () => {
    const { paths } = await openapi();
    const told = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(told.sort()).toEqual(routeTable.map(({ method, path }) => `${method} ${path}`).sort());
    for (const route of routeTable) {
      const operation = paths[route.path]?.[route.method.toLowerCase()] ?? {};
      expect(operation).toMatchObject({ operationId: route.operationId, summary: route.summary });
      const scopes = (operation['security'] as { bearer?: string[] }[]).flatMap(({ bearer = [] }) => bearer);
      expect(scopes).toEqual(route.scopes === 'public' ? [] : route.scopes);
      expect(Object.keys(operation['responses'] as Json)).toEqual(expect.arrayContaining(Object.keys(route.answers)));
    }
  });

  it('gives each constant of a named enum a name that no other has, as generators of one scope need it', async () => {
    const { components } = await openapi();
    const enums = Object.entries(components.schemas as Record<string, Json>).filter(([, schema]) => 'enum' in schema);
    expect(enums.length).toBeGreaterThan(8);
    const names = enums.flatMap(([id, { enum: words, 'x-enum-varnames': names }]) => {
      expect(names, id).toHaveLength((words as string[]).length);
      return names as string[];
    });
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[A-Z][A-Z0-9_]*$/);
    expect(names).toEqual(
      expect.arrayContaining(['RESULT_WORD_REJECTED', 'ATTEMPT_STATE_REJECTED', 'ORDER_STATUS_REJECTED']),
    );
  });

  it('writes a value that may be null as one shape of two types, never as a choice of shapes', async () => {
    const text = JSON.stringify(await openapi());
    expect(text).not.toContain('{"type":"null"}');
    expect(text).not.toContain('"nullable"');
    const { components } = await openapi();
    const { LaneStatus } = components.schemas as Record<string, { properties: Json }>;
    expect(LaneStatus?.properties['unhealthy']).toMatchObject({
      type: ['string', 'null'],
      enum: ['sockets_down', 'relay_stuck', 'loop_late', null],
    });
    expect(LaneStatus?.properties['takeover']).toMatchObject({ type: ['object', 'null'] });
  });

  it('names each operation once', () => {
    const names = routeTable.map(({ operationId }) => operationId);
    expect(new Set(names).size).toBe(names.length);
  });

  it('says of every path parameter which it is', () => {
    for (const { path } of routeTable)
      for (const name of idsIn(path)) expect(Object.keys(idKinds), path).toContain(name);
  });

  it('refers to nothing that it does not hold', async () => {
    const document = await openapi();
    const all = refs(document);
    expect(all.length).toBeGreaterThan(50);
    for (const ref of all) expect(resolve(document, ref), ref).toBeTypeOf('object');
  });

  it('tells strict bodies and open answers', async () => {
    const { schemas } = (await openapi()).components;
    expect(schemas['PlaceOrderRequest']).toMatchObject({ additionalProperties: false });
    expect(schemas['Command']).not.toHaveProperty('additionalProperties');
  });

  it('tells the parameters of a list with their types', async () => {
    const { parameters } = ((await openapi()).paths['/v1/orders']?.['get'] ?? {}) as { parameters?: Json[] };
    expect(parameters).toContainEqual(
      expect.objectContaining({
        name: 'limit',
        in: 'query',
        required: false,
        schema: expect.objectContaining({ type: 'integer', maximum: 500 }),
      }),
    );
    expect(parameters).toContainEqual(
      expect.objectContaining({ name: 'open', schema: expect.objectContaining({ type: 'boolean' }) }),
    );
  });
});

describe('/asyncapi.json', () => {
  it('has each topic and the stream, with messages that it holds', async () => {
    const { body } = await ask(`${rig.address}/asyncapi.json`);
    expect(body['asyncapi']).toBe('3.0.0');
    const addresses = Object.values(body['channels'] as Record<string, { address: string }>).map(
      ({ address }) => address,
    );
    expect(addresses).toEqual(
      expect.arrayContaining([
        'tidemark.order-updates.v1',
        'tidemark.order-state.v1',
        'tidemark.command-results.v1',
        'tidemark.watermarks.v1',
        '/v1/stream',
      ]),
    );
    for (const ref of refs(body)) expect(resolve(body, ref), ref).toBeTypeOf('object');
  });
});

describe('/docs', () => {
  it('is a page with every route and every schema, that loads nothing and runs nothing', async () => {
    const { status, headers, text } = await ask(`${rig.address}/docs`);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    for (const { path, operationId } of routeTable) {
      expect(text.includes(`id="${operationId}"`), operationId).toBe(true);
      expect(text.includes(path), path).toBe(true);
    }
    expect(/<script|src=|@import|url\(|https?:\/\//.exec(text)).toBeNull();
    const anchors = [...text.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(anchors.length).toBeGreaterThan(20);
    for (const id of new Set(anchors)) expect(text.includes(`id="${id}"`), id).toBe(true);
  });

  it('allows its own style by the hash of it, and no other', async () => {
    const { headers, text } = await ask(`${rig.address}/docs`);
    const style = /<style>(.*?)<\/style>/s.exec(text)?.[1] ?? '';
    const digest = createHash('sha256').update(style).digest('base64');
    expect(headers.get('content-security-policy')).toContain(`style-src 'sha256-${digest}'`);
  });
});
