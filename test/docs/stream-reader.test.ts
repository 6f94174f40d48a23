import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sha256, startRest } from '../support/rest/rest-rig.ts';

type Block = Readonly<Record<string, string>>;
interface Page {
  readonly updates: (url: string, token: string, lastId?: string) => AsyncGenerator<Block>;
}

const token = 'the-token-of-a-reader';
let rig: Awaited<ReturnType<typeof startRest>>;
beforeAll(async () => {
  const tokens = [{ name: 'reader', sha256: sha256(token), scopes: ['orders:read'], accounts: 'all' as const }];
  rig = await startRest({ auth: { tokens }, stream: { pollEveryMs: 20, pollGapMs: 1 } });
});
afterAll(() => rig.server.drain(new AbortController().signal));

/** The lines as they stand on the page. */
async function readerOfThePage(): Promise<Page> {
  const code = /^```js\n(export async function\* updates.*?)^```$/ms.exec(readFileSync('docs/rest.md', 'utf8'))?.[1];
  if (code === undefined) throw new Error('docs/rest.md has no reader of the stream');
  return (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as Page;
}

it('the reader of docs/rest.md sends its token, and resumes after its last id', async () => {
  const { updates } = await readerOfThePage();
  /** The first update after `lastId`; a stream that has none yet gets one. */
  const nextUpdate = async (revision: number, lastId?: string) => {
    for await (const block of updates(`${rig.address}/v1/stream`, token, lastId)) {
      if (block['event'] === 'update') return { id: block['id'], revision: JSON.parse(block['data'] ?? '').revision };
      rig.reads.addUpdate({ revision });
      rig.server.wake();
    }
    throw new Error('the stream ended without an update');
  };
  const first = await nextUpdate(1);
  expect(first).toEqual({ id: expect.stringMatching(/^\d+$/), revision: 1 });
  rig.reads.addUpdate({ revision: 2 });
  expect(await nextUpdate(3, first.id)).toMatchObject({ revision: 2 });
});

it('the reader of docs/rest.md throws what the service answers to a token that it does not take', async () => {
  const { updates } = await readerOfThePage();
  const first = updates(`${rig.address}/v1/stream`, 'not-a-token').next();
  await expect(first).rejects.toThrow(/^401: .*"code":"INVALID_TOKEN"/s);
});
