import { z } from 'zod';

/**
 * `GET /v2/users/me/accounts`: specification, "User account item". All of it is specified; that a client-credentials token sees the accounts of
 * all users its client was given is an **assumption**, as is every `status` besides `OPEN` (read as: no longer to be followed).
 */
export const userAccount = z.looseObject({
  trading_account_id: z.string().min(1),
  broker_account_id: z.string().optional(),
  status: z.string(),
  is_sim: z.boolean(),
  account_type: z.string().optional(),
  account_class: z.string().optional(),
});

export const userAccounts = z.looseObject({ accounts: z.array(userAccount) });

export const accountsPath = '/v2/users/me/accounts';

export type UserAccount = z.infer<typeof userAccount>;
export type UserAccounts = z.infer<typeof userAccounts>;
