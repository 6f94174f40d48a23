import { describe, expect, it } from 'vitest';
import {
  DeadLetterList,
  deadLetterFilters,
  filterText,
  mostChosen,
  progressOf,
} from '../../src/console/state/dead-letter-list.ts';
import { filtersIn } from '../../src/console/state/filter-address.ts';
import { visibleText } from '../../src/console/state/text/visible-text.ts';
import { ConsoleRig } from '../support/rest/console-rig.ts';

const live = new AbortController().signal;
const pathOf = (cursor?: string) =>
  `/v1/dead-letters?reason=poison&limit=100${cursor === undefined ? '' : `&cursor=${cursor}`}`;
const rows = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => ({ id: String(from + at) }));

async function listed(pages: Record<string, { items: object[]; next?: string }>) {
  const rig = new ConsoleRig();
  for (const [path, body] of Object.entries(pages)) rig.answers.set(path, { status: 200, body });
  const list = new DeadLetterList(rig.state.rest, { reason: 'poison' });
  await list.read(live);
  const ids = () => list.state.value.items?.map(({ id }) => id) ?? [];
  return { rig, list, ids };
}

describe('the dead letters', () => {
  it('come page after page, with the filter of the address', async () => {
    expect(filtersIn(deadLetterFilters, new URLSearchParams('stream=account&account=A&reason=poison'))).toEqual({
      ...{ stream: 'account', accountId: 'A', reason: 'poison' },
    });
    expect(filtersIn(deadLetterFilters, new URLSearchParams('stream=other&reason='))).toEqual({});
    const { list, ids } = await listed({
      [pathOf()]: { items: rows(1, 100), next: 'c' },
      [pathOf('c')]: { items: rows(101, 130) },
    });
    expect([ids().length, list.state.value.more]).toEqual([100, 'page']);
    await list.readMore(live);
    expect([ids().at(-1), list.state.value.more]).toEqual(['130', 'none']);
  });

  it('end where a person needs a filter, and say so', async () => {
    const { list, ids } = await listed({ [pathOf()]: { items: rows(1, 1_000), next: 'c' } });
    expect([ids().length, list.state.value.more]).toEqual([1_000, 'too_many']);
    await list.readMore(live);
    expect(ids().length).toBe(1_000);
  });

  it('are read again as far as they were shown, and those that are gone are not chosen any more', async () => {
    const { rig, list, ids } = await listed({
      [pathOf()]: { items: rows(1, 100), next: 'c' },
      [pathOf('c')]: { items: rows(101, 130) },
    });
    await list.readMore(live);
    list.choose('1', true);
    list.choose('2', true);
    rig.answers.set(pathOf(), { status: 200, body: { items: rows(2, 101), next: 'c' } });
    rig.answers.set(pathOf('c'), { status: 200, body: { items: rows(102, 130) } });
    await list.read(live);
    expect([ids()[0], ids().length, [...list.chosen.value]]).toEqual(['2', 129, ['2']]);
  });

  it('are chosen all at once, as many as one job may name', async () => {
    const { list } = await listed({ [pathOf()]: { items: rows(1, 300) } });
    list.chooseAll(true);
    expect(list.chosen.value.size).toBe(mostChosen);
    list.chooseAll(false);
    expect(list.chosen.value.size).toBe(0);
  });

  it('say why they could not be read, and stay', async () => {
    const { rig, list, ids } = await listed({ [pathOf()]: { items: rows(1, 2) } });
    rig.answers.set(pathOf(), { status: 503, body: { code: 'STORE_UNAVAILABLE', detail: 'away' } });
    await list.read(live);
    expect([ids(), list.state.value.fault]).toEqual([['1', '2'], 'The service answers 503 STORE_UNAVAILABLE: away.']);
  });
});

describe('a job over dead letters', () => {
  it('says its rows in words', () => {
    expect(filterText({})).toBe('all rows');
    expect(filterText({ rowIds: ['1', '2'] })).toBe('2 chosen');
    expect(filterText({ stream: 'account', reason: 'poison' })).toBe('stream account, reason poison');
  });

  it('has the share of its rows that have an answer as its progress', () => {
    const job = { total: 4, done: 1, failed: 1, withdrawn: 0 } as Parameters<typeof progressOf>[0];
    expect([progressOf(job), progressOf({ ...job, total: 0, done: 0, failed: 0 })]).toEqual([0.5, 1]);
  });
});

describe('a message as it came', () => {
  it('hides nothing: characters that cannot be seen are written out', () => {
    expect(visibleText('a\u202eb\u0000\nc\t')).toEqual([
      { text: 'a', unseen: false },
      { text: '\\u{202e}', unseen: true },
      { text: 'b', unseen: false },
      { text: '\\u{0}', unseen: true },
      { text: '\nc\t', unseen: false },
    ]);
    expect(visibleText('')).toEqual([]);
  });
});
