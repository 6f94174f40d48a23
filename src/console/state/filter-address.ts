import { type Filter, type Filters, nameOn } from '../../contract/list-filters.ts';

/** The filters of a list, as texts for REST. */
export type FilterTexts<All extends Filters> = { readonly [name in keyof All]?: string | undefined };

/**
 * The filters that an address names. A text that its filter cannot have is left out: an address
 * written by hand never breaks the page.
 */
export function filtersIn<All extends Filters>(filters: All, query: URLSearchParams): FilterTexts<All> {
  const given = Object.entries(filters).flatMap(([name, filter]) => {
    const text = query.get(nameOn('address', name, filter))?.trim() ?? '';
    return filter.off === undefined && isTextOf(filter, text) ? [[name, text]] : [];
  });
  return Object.fromEntries(given) as FilterTexts<All>;
}

function isTextOf({ takes }: Filter, text: string): boolean {
  if (takes === 'flag') return text === 'true';
  if (takes === 'time') return !Number.isNaN(Date.parse(text));
  return typeof takes === 'string' ? text !== '' : takes.includes(text);
}

/** The words after `?` for these filters, in the order of the table. */
export function filterWords<All extends Filters>(filters: All, texts: FilterTexts<All>): Record<string, string> {
  const words: Record<string, string> = {};
  for (const [name, filter] of Object.entries(filters)) {
    const text = texts[name];
    if (filter.off === undefined && text !== undefined && text !== '') words[nameOn('address', name, filter)] = text;
  }
  return words;
}
