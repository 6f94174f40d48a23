import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { commandEntries } from '../../src/cli/commands.ts';
import { optionTable } from '../../src/config/option-table.ts';
import { commandFilters, orderFilters } from '../../src/contract/list-filters.ts';
import { statusAnswer } from '../../src/contract/status-answer.ts';
import { commandStates } from '../../src/domain/command.ts';
import { declineCodes } from '../../src/service/commands/answer.ts';
import { scopes } from '../../src/service/rest/auth/principal.ts';
import { statusOf } from '../../src/service/rest/problem-codes.ts';
import { routeTable } from '../../src/service/rest/route-table.ts';

const read = (name: string) => readFileSync(`docs/${name}.md`, 'utf8');
const [rest, commands, security] = [read('rest'), read('commands'), read('security')];

describe('docs/rest.md', () => {
  const rows = [...rest.matchAll(/^\| `(GET|POST|PATCH|DELETE) (\S+)` \| (.*?) \|/gm)].map(
    ([, method, path, scope]) => ({
      route: `${method} ${path}`,
      scope: scope?.replaceAll('`', ''),
    }),
  );

  it('names every route with its scopes, and no other', () => {
    const wanted = routeTable.map(({ method, path, scopes: needed }) => ({
      route: `${method} ${path}`,
      scope: needed === 'public' ? 'public' : needed.join(' or '),
    }));
    const byRoute = (a: { route: string }, b: { route: string }) => a.route.localeCompare(b.route);
    expect(rows.toSorted(byRoute)).toEqual(wanted.toSorted(byRoute));
  });

  it('names every code with which a command is declined, beside its status', () => {
    for (const code of declineCodes) {
      const status = statusOf(code);
      const row = rest
        .split('\n')
        .find((line) => line.startsWith('| ') && line.split('|')[1]?.includes(String(status)));
      expect(row, `${code} at ${status}`).toContain(`\`${code}\``);
    }
  });

  it.each([
    ['orders', orderFilters],
    ['commands', commandFilters],
  ])('names every filter of the list of %s in its row', (list, filters) => {
    const [row = ''] = rest.split('\n').filter((line) => line.startsWith(`| \`GET /v1/${list}\` |`));
    const named = [...(row.split(/[|;]/)[3] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name);
    expect(named.toSorted()).toEqual(Object.keys(filters).toSorted());
  });

  it('explains each field of the state of the service', () => {
    const [, table = ''] = rest.split('| field | it says |');
    const [part = ''] = table.split('\n\n');
    const named = [...part.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, cell = '']) =>
      cell.replaceAll('`', '').split(', '),
    );
    expect(named.toSorted()).toEqual(Object.keys(statusAnswer.shape).toSorted());
  });
});

describe('docs/commands.md', () => {
  it('explains every result', () => {
    for (const state of commandStates) if (state !== 'open') expect(commands).toContain(`\`${state}\``);
  });

  it('names settings that there are', () => {
    const known = new Set(Object.values(optionTable).map(({ env }) => env));
    const named = [...`${commands}\n${security}\n${rest}`.matchAll(/`(TIDEMARK_[A-Z_]+)[^`]*`/g)].map(
      ([, name]) => name,
    );
    expect(named.filter((name) => name !== undefined && !known.has(name as never))).toEqual([]);
  });

  it('uses commands of the command line that there are', () => {
    const names = new Set(commandEntries.map(({ name }) => name));
    const used = [...`${commands}\n${rest}`.matchAll(/^tidemark ([a-z]+)|`tidemark ([a-z]+)/gm)].map(
      ([, a, b]) => a ?? b ?? '',
    );
    expect(used.length).toBeGreaterThan(5);
    expect(used.filter((name) => !names.has(name))).toEqual([]);
  });
});

it('docs/security.md explains every scope', () => {
  for (const scope of scopes) expect(security).toContain(`| \`${scope}\` |`);
});
