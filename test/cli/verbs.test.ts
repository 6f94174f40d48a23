import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import * as approvals from '../../src/cli/approvals.ts';
import * as backfill from '../../src/cli/backfill.ts';
import * as cancel from '../../src/cli/cancel.ts';
import * as listCommands from '../../src/cli/command/list-commands.ts';
import * as showCommand from '../../src/cli/command/show-command.ts';
import * as command from '../../src/cli/command.ts';
import * as deadLetterJobs from '../../src/cli/dead-letter-jobs.ts';
import * as deadLetters from '../../src/cli/dead-letters.ts';
import * as fleet from '../../src/cli/fleet.ts';
import * as halt from '../../src/cli/halt.ts';
import * as limits from '../../src/cli/limits.ts';
import * as orders from '../../src/cli/orders.ts';
import * as place from '../../src/cli/place.ts';
import * as probe from '../../src/cli/probe.ts';
import type { EachVerb } from '../../src/cli/rest/each-verb.ts';
import type { ListVerb } from '../../src/cli/rest/list-verb.ts';
import type { RestFlags } from '../../src/cli/rest/rest-flags.ts';
import type { Verb } from '../../src/cli/rest/verb.ts';
import { examplesOf } from '../../src/service/rest/documents/examples/find-examples.ts';
import type { Route } from '../../src/service/rest/route.ts';
import { routeTable } from '../../src/service/rest/route-table.ts';
import { cliIo } from '../support/rest/cli-io.ts';

// Every declaration in src/cli is held to the one table of routes: a verb can't ask for a path that
// is not served, or expect an answer that is not given.

type AnyVerb =
  | Verb<z.ZodType<object>>
  | EachVerb<z.ZodType<object>, RestFlags, unknown>
  | ListVerb<z.ZodType<{ items: readonly unknown[] }>>;

const modules: Readonly<Record<string, object>> = {
  'approvals.ts': approvals,
  'backfill.ts': backfill,
  'cancel.ts': cancel,
  'command.ts': command,
  'command/list-commands.ts': listCommands,
  'command/show-command.ts': showCommand,
  'fleet.ts': fleet,
  'halt.ts': halt,
  'limits.ts': limits,
  'orders.ts': orders,
  'place.ts': place,
  'dead-letter-jobs.ts': deadLetterJobs,
  'dead-letters.ts': deadLetters,
  'probe.ts': probe,
};
const isVerb = (value: unknown): value is AnyVerb => typeof value === 'object' && value !== null && 'route' in value;
const verbs = Object.values(modules).flatMap((each) => Object.values(each).flat().filter(isVerb));
const cases = verbs.flatMap((verb) => [verb.route].flat().map((route) => [route, verb] as const));

function routeOf(name: string): Route {
  const found = routeTable.find(({ method, path }) => `${method} ${path}` === name);
  if (found === undefined) throw new Error(`${name} is not in the table of routes`);
  return found;
}

const folder = join(import.meta.dirname, '../../src/cli');
const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));

it('every file that declares a verb is looked at', () => {
  const declaring = sources.filter(
    ({ name, text }) => !/^(?:rest\/|commands\.ts)/.test(name) && /[:=] (?:List|Each)?Verb</.test(text),
  );
  expect(declaring.map(({ name }) => name).toSorted()).toEqual(Object.keys(modules).toSorted());
});

/** `/v1/orders/${stream}/…` as parts: a place where a value is put in is undefined. */
const pathsIn = (text: string) =>
  [...text.matchAll(/[`'](\/v1\/(?:\$\{[^}]*\}|[\w/{}-])*)/g)].map(([, path = '']) =>
    path
      .replace(/\$\{query\(.*/, '')
      .replace(/\$?\{[^}]*\}/g, '*')
      // A value may have several parts: the path is known up to it.
      .replace(/\/\*\w.*/, '')
      .split('/')
      .map((part) => (part === '*' ? undefined : part)),
  );

it('every path in the command line begins a path of the table of routes', () => {
  const served = routeTable.map(({ path }) => pathsIn(`'${path}`)[0] ?? []);
  const isServed = (path: readonly (string | undefined)[]) =>
    served.some((route) =>
      path.every(
        (part, at) => at < route.length && (part === undefined || route[at] === undefined || part === route[at]),
      ),
    );
  expect(isServed(['', 'v1', 'order', undefined]), 'the check can fail').toBe(false);
  const paths = sources.flatMap(({ name, text }) => pathsIn(text).map((path) => ({ name, path })));
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter(({ path }) => path.join('/') !== '/v1/' && !isServed(path))).toEqual([]);
});

it('nothing is changed over REST but by a declaration, or by a tool of an assistant', () => {
  const changes = ({ text }: (typeof sources)[number]) => /method: '(?:POST|PATCH|PUT|DELETE)'/.test(text);
  const changing = sources.filter(({ name }) => !name.startsWith('mcp/')).filter(changes);
  expect(changing.map(({ name }) => name)).toEqual([]);
  expect(sources.filter(changes).length, 'the check can fail').toBeGreaterThan(0);
});

describe.each(cases)('%s', (name, verb) => {
  const route = routeOf(name);

  it('sends what the route takes', () => {
    if ('reasoned' in verb) expect(Object.keys(shapeOf(route.body))).toContain('reason');
    if ('keyed' in verb) expect(route.headers).toContain('Idempotency-Key');
    const prediction = name.includes('/predictions/') || undefined;
    const stream = prediction ? undefined : 'alpaca_paper';
    const flags = { stream, limit: 1, maxQuantity: '1', side: 'buy', type: 'limit', tif: 'day', prediction } as never;
    const { query = {}, body = {} } = 'page' in verb ? { query: verb.filter(flags) } : (verb.ask?.(flags, []) ?? {});
    const [parameters, fields] = [Object.keys(route.query?.shape ?? {}), Object.keys(shapeOf(route.body))];
    expect(Object.keys(query).filter((key) => !parameters.includes(key))).toEqual([]);
    expect(Object.keys(body).filter((key) => !fields.includes(key))).toEqual([]);
  });

  it('understands and prints each answer that the documents show of it', () => {
    const shown = ([200, 202] as const).flatMap((status) => {
      const { schema } = route.answers[status] ?? {};
      const examples = schema === undefined ? [] : examplesOf(schema, route.operationId, status);
      // 202 with a request that waits for a second principal is an error of the command line.
      return examples.filter(({ value }) => status === 200 || !('approval' in (value as object)));
    });
    expect(shown.length).toBeGreaterThan(0);
    for (const { value } of shown) {
      const text = textOf(verb, value);
      expect(text).toMatch(/\S\n$/);
      expect(text).not.toMatch(/undefined|\[object|NaN/);
    }
  });
});

function textOf(verb: AnyVerb, value: unknown): string {
  if ('page' in verb) return verb.text(verb.page.parse(value).items, { limit: 50 }, cliIo());
  const answer = verb.answer.parse(value);
  if ('refused' in verb) return verb.text([verb.result('1', answer)]);
  return verb.text(answer, {}, cliIo(), { isOpen: true, replayed: true, key: 'k' });
}

function shapeOf(body: z.ZodType | undefined): object {
  return body !== undefined && 'shape' in body ? (body.shape as object) : {};
}
