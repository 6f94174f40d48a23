import { describe, expect, it } from 'vitest';
import { readMigrations } from '../../src/store/migrations.ts';
import { compareSchema } from '../../src/store/schema-version.ts';

const build = [1, 2, 3].map((when) => ({ tag: `000${when}`, when, hash: `hash-${when}`, statements: [] }));
const applied = (...whens: number[]) => whens.map((when) => ({ when, hash: `hash-${when}` }));

describe('the schema of a database', () => {
  it('is current when it has what the build has', () => {
    expect(compareSchema(build, applied(1, 2, 3))).toEqual({ kind: 'current' });
  });

  it('is behind by what was not applied', () => {
    expect(compareSchema(build, applied(1))).toEqual({ kind: 'behind', pending: build.slice(1) });
    expect(compareSchema(build, [])).toEqual({ kind: 'behind', pending: build });
  });

  it('is newer when it has something later than all that the build has', () => {
    expect(compareSchema(build, applied(1, 2, 3, 4))).toEqual({ kind: 'newer' });
    expect(compareSchema(build.slice(0, 1), applied(1, 2))).toEqual({ kind: 'newer' });
  });

  it('is foreign when it has something else', () => {
    expect(compareSchema(build, [{ when: 2, hash: 'edited' }]).kind).toBe('foreign');
    expect(
      compareSchema(
        [1, 3].flatMap((when) => build.filter((m) => m.when === when)),
        applied(1, 2),
      ).kind,
    ).toBe('foreign');
  });
});

describe('the migrations of the build', () => {
  it('come in the order in which they were made', async () => {
    const migrations = await readMigrations();
    expect(migrations.length).toBeGreaterThan(2);
    const whens = migrations.map((migration) => migration.when);
    expect(whens).toEqual(whens.toSorted((a, b) => a - b));
    expect(migrations.every((migration, i) => migration.tag.startsWith(String(i).padStart(4, '0')))).toBe(true);
  });
});
