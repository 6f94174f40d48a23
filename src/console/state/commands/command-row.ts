import type { CommandOutcome } from '../../../../types/records.d.ts';
import type { CommandAnswer } from '../../../contract/rest-answers.ts';

/** A command in a list: as REST has it, or as its newest step on the stream. */
export type CommandRow = Pick<
  CommandAnswer,
  | 'commandId'
  | 'version'
  | 'kind'
  | 'stream'
  | 'accountId'
  | 'orderId'
  | 'state'
  | 'callerRef'
  | 'terms'
  | 'createdAt'
  | 'reason'
> & { readonly presumedAbsent: boolean };

/**
 * The list's filters, as they are in the address. `state`: a state, or `unresolved` for every
 * unknown outcome.
 */
export interface CommandFilters {
  readonly account?: string;
  readonly kind?: string;
  readonly state?: string;
  readonly key?: string;
  readonly reference?: string;
  /** An order's id. Its page asks for it; it is in no address. */
  readonly order?: string;
}

const filterNames = [
  'account',
  'kind',
  'state',
  'key',
  'reference',
] as const satisfies readonly (keyof CommandFilters)[];

export function filtersOf(query: URLSearchParams): CommandFilters {
  const given = filterNames.map((name) => [name, query.get(name) ?? ''] as const).filter(([, value]) => value !== '');
  return Object.fromEntries(given);
}

export function isUnresolved({ state }: Pick<CommandRow, 'state'>): boolean {
  return state === 'open' || state === 'unknown' || state === 'conflict';
}

export function rowOfOutcome(outcome: CommandOutcome): CommandRow {
  const { commandId, version, kind, stream, accountId, orderId, state, callerRef, terms, createdAt, reason } = outcome;
  return {
    ...{
      commandId,
      version,
      kind,
      stream,
      accountId,
      state,
      createdAt,
      presumedAbsent: outcome.presumedAbsent === true,
    },
    ...(orderId !== undefined && { orderId }),
    ...(callerRef !== undefined && { callerRef }),
    ...(terms !== undefined && { terms: { ...terms } }),
    ...(reason !== undefined && { reason }),
  };
}

/**
 * Whether the row fits the filters. The key is not in a row: undefined says that only the service
 * knows.
 */
export function matches(
  row: CommandRow,
  { account, kind, state, key, reference, order }: CommandFilters,
): boolean | undefined {
  if (order !== undefined && row.orderId !== order) return false;
  if (account !== undefined && row.accountId !== account) return false;
  if (kind !== undefined && row.kind !== kind) return false;
  if (reference !== undefined && row.callerRef !== reference) return false;
  if (state === 'unresolved' ? !isUnresolved(row) : state !== undefined && row.state !== state) return false;
  return key === undefined ? true : undefined;
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
