import { describe, expect, it } from 'vitest';
import { compareSchema, fits, readMigrations, readOlderBuilds } from '../../src/store/migrations.ts';

const build = [1, 2, 3].map((when) => ({ tag: `000${when}`, when, hash: `hash-${when}`, statements: [], needs: when }));
const applied = (...whens: number[]) => whens.map((when) => ({ when, hash: `hash-${when}` }));
const later = (when: number, needs: number) => ({ when, hash: `hash-${when}`, needs });

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

  it('is ahead, and fits, when everything later names this build or an older one as the oldest that may run on', () => {
    const ahead = compareSchema(build, [...applied(1, 2, 3), later(4, 3), later(5, 2)]);
    expect([ahead, fits(ahead)]).toEqual([{ kind: 'ahead', by: 2 }, true]);
  });

  it('is newer when anything later names a newer build, or none at all', () => {
    for (const last of [later(5, 4), later(5, 5), ...applied(5)]) {
      const newer = compareSchema(build, [...applied(1, 2, 3), later(4, 3), last]);
      expect([newer, fits(newer)]).toEqual([{ kind: 'newer' }, false]);
    }
  });

  it('is newer, though all that is later would do, when something older of this build is missing', () => {
    expect(compareSchema(build, [...applied(1, 3), later(4, 3)])).toEqual({ kind: 'newer' });
  });

  it('is foreign also where it is ahead, when something older was changed', () => {
    expect(compareSchema(build, [...applied(1, 2), { when: 3, hash: 'edited' }, later(4, 3)]).kind).toBe('foreign');
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

describe('a baseline that was edited while databases had it', () => {
  const [first, next, ...rest] = build.map((each) => ({ ...each, statements: [each.tag] }));
  const edited = [{ ...first, earlier: { hash: 'before', statements: ['the way'] } }, next, ...rest] as typeof build;

  it('is behind from its earlier text, and the way is the first part of what follows', () => {
    const pending = [{ ...next, statements: ['the way', '0002'] }, ...rest];
    expect(compareSchema(edited, [{ when: 1, hash: 'before' }])).toEqual({ kind: 'behind', pending });
    expect(compareSchema(edited, applied(1))).toEqual({ kind: 'behind', pending: [next, ...rest] });
    expect(compareSchema(edited, applied(1, 2, 3))).toEqual({ kind: 'current' });
  });

  it('is foreign with any other text, and where something followed it', () => {
    expect(compareSchema(edited, [{ when: 1, hash: 'between' }]).kind).toBe('foreign');
    expect(compareSchema(edited, [{ when: 1, hash: 'before' }, ...applied(2)]).kind).toBe('foreign');
  });
});

describe('the migrations of the build', () => {
  it('come in the order in which they were made', async () => {
    const migrations = await readMigrations();
    expect(migrations.length).toBeGreaterThan(0);
    const whens = migrations.map((migration) => migration.when);
    expect(whens).toEqual(whens.toSorted((a, b) => a - b));
    expect(migrations.every((migration, i) => migration.tag.startsWith(String(i).padStart(4, '0')))).toBe(true);
  });

  it('say of each one after the baseline which older builds may run on beside it, in drizzle/older-builds.json', async () => {
    const named = await readOlderBuilds();
    const tags = (await readMigrations()).map(({ tag }) => tag);
    const [, ...afterTheBaseline] = tags;
    expect(afterTheBaseline.filter((tag) => !Object.hasOwn(named, tag))).toEqual([]);
    expect(Object.keys(named).filter((tag) => !tags.includes(tag))).toEqual([]);
  });

  it('name only migrations before them as the oldest', async () => {
    for (const { tag, when, needs = when } of await readMigrations()) expect(needs, tag).toBeLessThanOrEqual(when);
  });
});
