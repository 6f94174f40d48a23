import type { Stream } from '../../../types/records.d.ts';
import { commandFilters } from '../../contract/list-filters.ts';
import { streamPattern } from '../../domain/order.ts';
import { type FilterTexts, filterWords } from './filter-address.ts';
import { type BlotterView, defaultView, queryOf } from './orders/blotter-view.ts';
import { queryText } from './rest.ts';

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The grammar for each variable part of an address; a part that does not fit names nothing. */
const parts: Readonly<Record<string, RegExp>> = {
  stream: streamPattern,
  orderId: /^.{1,512}$/s,
  commandId: uuid,
  rowId: /^[1-9]\d{0,17}$/,
};

/** The address of each screen. */
const paths = {
  blotter: '/console',
  order: '/console/orders/:stream/:orderId',
  fills: '/console/fills',
  commands: '/console/commands',
  command: '/console/commands/:commandId',
  risk: '/console/risk',
  ticket: '/console/place',
  accounts: '/console/accounts',
  pipeline: '/console/pipeline',
  deadLetters: '/console/dead-letters',
  deadLetter: '/console/dead-letters/:rowId',
  /** For a build with one screen more, which gives its own. */
  added: '/console/added',
};
export type ScreenName = keyof typeof paths;
/** The screens with a list and its filters alone in their query. */
export type ListScreen = 'fills' | 'commands' | 'deadLetters';

export function addPath(path: string): void {
  paths.added = path;
}

/** The screen at an address, with the parts in its path and the words after `?`. */
export interface Place {
  readonly screen: ScreenName | 'unknown';
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}

/** From a path and the text from `?` on. */
export function placeOf(path: string, queryText: string): Place {
  const query = new URLSearchParams(queryText);
  const given = path.replace(/\/$/, '').split('/');
  for (const [screen, pattern] of Object.entries(paths)) {
    const params = paramsOf(pattern.split('/'), given);
    if (params !== undefined) return { screen: screen as ScreenName, params, query };
  }
  return { screen: 'unknown', params: {}, query };
}

function paramsOf(pattern: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  if (pattern.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [at, word] of pattern.entries()) {
    const text = given[at] ?? '';
    if (!word.startsWith(':')) {
      if (word !== text) return undefined;
      continue;
    }
    const value = decoded(text);
    if (value === undefined || parts[word.slice(1)]?.test(value) !== true) return undefined;
    params[word.slice(1)] = value;
  }
  return params;
}

/** `words`: those for the parts of its path, and those behind `?`. */
export function addressOf(screen: ScreenName, words: Readonly<Record<string, string | undefined>> = {}): string {
  const query = { ...words };
  const path = paths[screen].replace(/:(\w+)/g, (_all, name: string) => {
    delete query[name];
    return encodeURIComponent(words[name] ?? '');
  });
  return path + queryText(query);
}

export function blotterAddress(view: BlotterView = defaultView): string {
  return `${paths.blotter}${queryOf(view)}`;
}

export function commandsAddress(filters: FilterTexts<typeof commandFilters> = {}): string {
  return addressOf('commands', filterWords(commandFilters, filters));
}

export function commandAddress(commandId: string): string {
  return addressOf('command', { commandId });
}

/** Plain text: it is no screen, and loads anew. */
export function runbookAddress(name: string): string {
  return `/console/runbooks/${encodeURIComponent(name)}.md`;
}

export function orderAddress({ stream, orderId }: { readonly stream: Stream; readonly orderId: string }): string {
  // A browser takes a part that is a dot or two out of the address.
  if (orderId === '.' || orderId === '..') return blotterAddress({ ...defaultView, openOnly: false, q: orderId });
  return addressOf('order', { stream, orderId });
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
