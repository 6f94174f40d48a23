import { z } from 'zod';
import { isAddressable, isPlatformId } from '../../../domain/platform-id.ts';
import { listOf, neededFlag, neededText, optionalText, shownText } from './optional-field.ts';

/**
 * `GET /v2/users/me/accounts`: specification, "User account item". All is specified, with two
 * **assumptions**: a client-credentials token sees the accounts of all users its client was given,
 * and every `status` besides `OPEN` is read as: followed, and nothing is placed on it.
 */
const userAccount = z.looseObject({
  /** Another one could be named by no request to us: `..` would be taken out of its path. */
  trading_account_id: neededText.refine((id) => isPlatformId(id) && isAddressable(id)),
  broker_account_id: optionalText,
  /** Only the word OPEN permits anything, so a missing one is no better than an unknown one. */
  status: shownText,
  /** Only the words true and false say anything. Without them the reader decides. */
  is_sim: neededFlag.optional().catch(undefined),
  account_type: optionalText,
  account_class: optionalText,
});

/**
 * The list with its items as they came. 100,000 take a second to read, so a reader that may not
 * wait reads them in parts.
 */
export const accountItems = z.looseObject({ accounts: listOf(z.unknown()) });

/**
 * Undefined: the item can't be read. One bad item must not hide the others, and does not say its
 * account is gone.
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
 * The list has no pages. With 100,000 accounts at some 190 bytes, as docs/capacity.md allows, it is
 * 19 MB. The bound leaves room for items three times as long.
 */
export const accountsMaxBytes = 64 * 1024 * 1024;

export type UserAccount = z.infer<typeof userAccount>;
export type UserAccounts = z.infer<typeof userAccounts>;

/** Whether orders may be placed on an account with this status: the word OPEN alone says so. */
export function permitsPlacing(status: string): boolean {
  return status.trim().toUpperCase() === 'OPEN';
}

/**
 * The body of `POST /v1/users/me/email/change`. Specification: `email`. Assumption: an address's
 * form, and `200 {}` as success.
 */
export const changeEmailBody = z.object({ email: z.email().max(254) });

export const changeEmailPath = '/v1/users/me/email/change';

/**
 * The body of `DELETE /v1/config/{category}/user-settings`. Specification, all of it; answered by
 * an empty object.
 */
export const deleteSettingsBody = z.object({ keys: z.array(z.string()) });

/** The specification shows this code for a failed deletion. */
export const settingDeleteError = 'USER_SETTING_DELETE_ERROR';

/**
 * Specification, "User setting": addressed by category and key; the value is a bare JSON value with
 * any type.
 */
export function settingsPath(category: string): string {
  return `/v1/config/${encodeURIComponent(category)}/user-settings`;
}

export function settingPath(category: string, key: string): string {
  return `${settingsPath(category)}/${encodeURIComponent(key)}`;
}

/**
 * `GET /v1/health`. The specification names the group only: path, shape, and being open to
 * everybody are an **assumption**.
 */
export const health = z.looseObject({ status: neededText });

export const healthPath = '/v1/health';
