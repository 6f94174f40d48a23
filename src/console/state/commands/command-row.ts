import type { CommandResult } from '../../../../types/records.d.ts';
import type { commandFilters } from '../../../contract/list-filters.ts';
import type { CommandAnswer } from '../../../contract/rest-answers.ts';
import type { FilterTexts } from '../filter-address.ts';

/** A command in a list: as REST has it, or as its newest step on the stream. */
export type CommandRow = Pick<
  CommandAnswer,
  | 'commandId'
  | 'version'
  | 'kind'
  | 'stream'
  | 'accountId'
  | 'orderId'
  | 'replaces'
  | 'state'
  | 'callerRef'
  | 'terms'
  | 'createdAt'
  | 'reason'
> & { readonly presumedAbsent: boolean };

/** The list's filters. `order`: the id of an order, whose page has its commands alone. */
export interface CommandFilters extends FilterTexts<typeof commandFilters> {
  readonly order?: string;
}

export function isUnresolved({ state }: Pick<CommandRow, 'state'>): boolean {
  return state === 'open' || state === 'unknown' || state === 'conflict';
}

export function rowOfResult(result: CommandResult): CommandRow {
  return { ...result, presumedAbsent: result.presumedAbsent === true };
}

type Fit = (row: CommandRow, wanted: string) => boolean | undefined;

/** How a row is compared with a filter. The others are fields of the row, equal to the letter. */
const fits: Readonly<
  Record<Exclude<keyof CommandFilters, keyof CommandRow>, Fit> & Partial<Record<keyof CommandFilters, Fit>>
> = {
  order: isAbout,
  unresolved: isUnresolved,
  // Not in a row.
  idempotencyKey: () => undefined,
  q: (row, wanted) => isAbout(row, wanted) || [row.commandId, row.callerRef].includes(wanted) || undefined,
};

/** A replace that has made an order is about both. */
export function isAbout({ orderId, replaces }: CommandRow, order: string): boolean {
  return orderId === order || replaces === order;
}

/** Whether the row fits the filters. Undefined: only the service knows. */
export function matches(row: CommandRow, filters: CommandFilters): boolean | undefined {
  const found = Object.entries(filters).map(([name, wanted]) => {
    const compare = fits[name as keyof CommandFilters];
    return compare === undefined ? Reflect.get(row, name) === wanted : compare(row, wanted);
  });
  return found.includes(false) ? false : found.includes(undefined) ? undefined : true;
}

/** The unresolved first, the oldest on top; then the others, the newest on top. */
export function inOrder(rows: Iterable<CommandRow>): CommandRow[] {
  return [...rows].sort((a, b) => {
    const [first, second] = [isUnresolved(a), isUnresolved(b)];
    if (first !== second) return first ? -1 : 1;
    const later = b.createdAt.localeCompare(a.createdAt) || b.commandId.localeCompare(a.commandId);
    return first ? -later : later;
  });
}
