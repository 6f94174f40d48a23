import type { z } from 'zod';
import { type RestClient, understood } from './rest-client.ts';
import { query } from './rest-flags.ts';

/** A page of any list of REST. */
export interface Listed {
  readonly items: readonly unknown[];
  readonly next?: string | undefined;
}

const mostOfAPage = 500;

/**
 * Reads pages until there are so many rows, or no more. A page of few matches may be empty and
 * still have a next one.
 */
export async function readPages<Page extends z.ZodType<Listed>>(
  client: RestClient,
  list: {
    readonly about: string;
    readonly path: string;
    readonly filter: Readonly<Record<string, string | undefined>>;
    readonly page: Page;
    readonly most: number;
  },
): Promise<{ readonly items: z.infer<Page>['items'][number][]; readonly more: boolean }> {
  const items: z.infer<Page>['items'][number][] = [];
  let cursor: string | undefined;
  do {
    const limit = String(Math.min(mostOfAPage, list.most - items.length));
    const { body } = await client.ask({
      method: 'GET',
      path: `${list.path}${query({ ...list.filter, limit, cursor })}`,
    });
    const page = understood(list.about, list.page, body);
    items.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined && items.length < list.most);
  return { items, more: cursor !== undefined };
}
