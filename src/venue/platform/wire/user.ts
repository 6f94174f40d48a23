import { z } from 'zod';
import { listOf, neededFlag, neededText, optionalText, shownText } from './optional-field.ts';

/**
 * `GET /v2/users/me/accounts`: specification, "User account item". All of it is
 * specified; that a client-credentials token sees the accounts of all users its
 * client was given is an **assumption**, as is every `status` besides `OPEN` (read
 * as: followed, and nothing is placed on it).
 */
const userAccount = z.looseObject({
  trading_account_id: neededText,
  broker_account_id: optionalText,
  /**
   * Only the word OPEN permits anything, so one that was left out is no better than an unknown one.
   */
  status: shownText,
  /** Only the words true and false say anything: who reads it decides what silence means. */
  is_sim: neededFlag.optional().catch(undefined),
  account_type: optionalText,
  account_class: optionalText,
});

/**
 * The list with its items as they came. 100,000 of them take a second to read,
 * so who may not wait reads them in parts.
 */
export const accountItems = z.looseObject({ accounts: listOf(z.unknown()) });

/**
 * Undefined: the item can't be read. One bad item must not hide the others,
 * and is no word that its account is gone.
 */
export function readAccountItem(item: unknown): UserAccount | undefined {
  return userAccount.safeParse(item).data;
}

/** The accounts that can be read, and how many can't. */
export const userAccounts = accountItems.transform(({ accounts: items }) => {
  const accounts = items.flatMap((item) => readAccountItem(item) ?? []);
  return { accounts, unreadable: items.length - accounts.length };
});

export const accountsPath = '/v2/users/me/accounts';

/**
 * The list has no pages: with 100,000 accounts of some 190 bytes, which docs/scaling.md allows, it
 * is 19 MB. The bound leaves room for items three times as long.
 */
export const accountsMaxBytes = 64 * 1024 * 1024;

export type UserAccount = z.infer<typeof userAccount>;
export type UserAccounts = z.infer<typeof userAccounts>;

/** Whether orders may be placed on an account of this status: the word OPEN alone says so. */
export function permitsPlacing(status: string): boolean {
  return status.trim().toUpperCase() === 'OPEN';
}

/**
 * Body of `POST /v1/users/me/email/change`. Specification: `email`. Assumption: the form of an
 * address, and that success is `200 {}`.
 */
export const changeEmailBody = z.object({ email: z.email().max(254) });

export const changeEmailPath = '/v1/users/me/email/change';

/**
 * Body of `DELETE /v1/config/{category}/user-settings`.
 * Specification, all of it; answered by an empty object.
 */
export const deleteSettingsBody = z.object({ keys: z.array(z.string()) });

/** The code that the specification shows where a deletion fails. */
export const settingDeleteError = 'USER_SETTING_DELETE_ERROR';

/**
 * Specification, "User setting": addressed by category and key;
 * the value is a bare JSON value of any type.
 */
export function settingsPath(category: string): string {
  return `/v1/config/${encodeURIComponent(category)}/user-settings`;
}

export function settingPath(category: string, key: string): string {
  return `${settingsPath(category)}/${encodeURIComponent(key)}`;
}

/**
 * `GET /v1/health`. The specification names the group only: path, shape, and that it is open to
 * everybody are an **assumption**.
 */
export const health = z.looseObject({ status: neededText });

export const healthPath = '/v1/health';
