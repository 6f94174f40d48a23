const causes: Readonly<Record<string, string>> = {
  unresolved: 'too many results are not known',
  unreadable: 'a command cannot be read',
  late_landing: 'an order landed late',
  rate: 'too many orders in a short time',
  operator: 'by a person, for every account',
  account_operator: 'by a person',
  commits_lost: 'the database lost changes',
};

/** Why a halt was raised, as people read it. */
export function haltCauseText(cause: string): string {
  return causes[cause] ?? cause.replaceAll('_', ' ');
}

/** The name of a scope; it is typed to confirm an action. */
export function scopeText(accountId: string | undefined): string {
  return accountId ?? 'all accounts';
}
