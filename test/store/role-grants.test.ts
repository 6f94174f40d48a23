import { expect, it } from 'vitest';
import { readMigrations } from '../../src/store/migrations.ts';
import { roleGrants } from '../../src/store/role-grants.ts';

const migration = (...statements: string[]) => [{ statements }];

it('reads what the migrations grant to the service, and to nobody else', () => {
  const found = roleGrants(
    migration(
      '-- GRANT ALL ON nothing TO tidemark_app;\nGRANT USAGE ON SCHEMA public TO tidemark_app, tidemark_reader;',
      'GRANT SELECT, UPDATE (a, b), DELETE ON public.x,\n  public.y TO tidemark_app;\nGRANT SELECT ON public.z TO tidemark_reader;',
      'REVOKE ALL ON FUNCTION public.f FROM PUBLIC;\nGRANT EXECUTE ON FUNCTION public.f, public.g TO tidemark_app;',
    ),
    'tidemark_app',
  );
  expect(found.map(({ privilege, on }) => `${privilege} ON ${on}`)).toEqual([
    'USAGE ON SCHEMA public',
    'SELECT ON public.x',
    'UPDATE (a, b) ON public.x',
    'DELETE ON public.x',
    'SELECT ON public.y',
    'UPDATE (a, b) ON public.y',
    'DELETE ON public.y',
    'EXECUTE ON FUNCTION public.f',
    'EXECUTE ON FUNCTION public.g',
  ]);
});

it('misses no GRANT to the service in the migrations of this build', async () => {
  const migrations = await readMigrations();
  const texts = migrations.flatMap(({ statements }) => statements).join('\n');
  const statements = texts.match(/^\s*GRANT [^;]*tidemark_app[^;]*;/gm) ?? [];
  expect(statements.length).toBeGreaterThan(10);
  for (const statement of statements)
    expect(roleGrants(migration(statement), 'tidemark_app').length, statement).toBeGreaterThan(0);
});
