import type { AccountListDocument } from '../../../contract/account-answers.ts';
import type { HaltDocument } from '../../../contract/halt-answers.ts';

/** One line of the halts: all accounts together, or one account, with the halts in force there. */
export interface ScopeLine {
  /** Undefined: all accounts. */
  readonly accountId: string | undefined;
  readonly isSim: boolean | undefined;
  /** A halt names the account, and no instance has ever followed it: a mistyped id, perhaps. */
  readonly isUnknown: boolean;
  readonly halts: readonly HaltDocument[];
}

/** All accounts first, then the halted ones, then the others, by name. */
export function haltsByScope(
  accounts: AccountListDocument['items'] | undefined,
  halts: readonly HaltDocument[],
): readonly ScopeLine[] {
  const simulated = new Map((accounts ?? []).map(({ accountId, isSim }) => [accountId, isSim]));
  const byAccount = Map.groupBy(halts, ({ scope }) => (scope.kind === 'account' ? scope.accountId : undefined));
  const named = new Set([...simulated.keys(), ...byAccount.keys()].filter((id) => id !== undefined));
  const lines = [...named].sort().map((accountId) => ({
    accountId,
    isSim: simulated.get(accountId),
    isUnknown: accounts !== undefined && !simulated.has(accountId),
    halts: byAccount.get(accountId) ?? [],
  }));
  const { halted = [], free = [] } = Object.groupBy(lines, (line) => (line.halts.length > 0 ? 'halted' : 'free'));
  const all = { accountId: undefined, isSim: undefined, isUnknown: false, halts: byAccount.get(undefined) ?? [] };
  return [all, ...halted, ...free];
}
