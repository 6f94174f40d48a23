import type { FastifyInstance, FastifyReply } from 'fastify';
import {
  accountsPath,
  changeEmailBody,
  changeEmailPath,
  deleteSettingsBody,
  settingDeleteError,
  type UserAccount,
} from '../../venue/platform/wire/user.ts';
import type { ExchangeAccount } from '../exchange/exchange-order.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { subjectOf } from '../users/user-records.ts';
import { sendFlat } from './error-bodies.ts';
import { readJsonBody } from './read-request.ts';
import { scoped } from './require-scope.ts';

/** `GET /v2/users/me/accounts` (specification, "Users and settings"). */
export function accountRoutes(app: FastifyInstance, parts: SandboxParts): void {
  const accountsOf = scoped(parts, 'account:information', 'flat', (_request, _reply, principal) => {
    const accounts = parts.directory.accountsOf(principal).filter(({ unlisted }) => unlisted !== true);
    return { accounts: accounts.map(accountItem) };
  });
  app.get(accountsPath, accountsOf);
}

function accountItem(account: ExchangeAccount): UserAccount {
  return {
    trading_account_id: account.id,
    broker_account_id: '',
    status: account.status,
    is_sim: true,
    account_type: 'INDIVIDUAL',
    account_class: 'MARGIN',
  };
}

/**
 * `POST /v1/users/me/email/change` (specification, "Users and settings"). Errors are flat bodies.
 */
export function emailRoutes(app: FastifyInstance, parts: SandboxParts): void {
  const changeEmail = scoped(parts, 'user:information', 'flat', (request, reply, principal) => {
    const body = readJsonBody(changeEmailBody, request);
    if ('fault' in body)
      return sendFlat(reply, 400, body.fault, [body.code === 'INVALID_JSON' ? body.code : 'INVALID_EMAIL']);
    parts.users.changeEmail(subjectOf(principal), body.value.email);
    return {};
  });
  app.post(changeEmailPath, changeEmail);
}

/**
 * Reading and deleting one's own settings (specification, "Users and settings"). Errors are flat
 * bodies.
 */
export function settingsRoutes(app: FastifyInstance, parts: SandboxParts): void {
  const readSetting = scoped(parts, 'account:information', 'flat', (request, reply, principal) => {
    const { category, key } = request.params as Readonly<Record<'category' | 'key', string>>;
    const setting = parts.users.setting(subjectOf(principal), category, key);
    if (setting === undefined) return sendFlat(reply, 404, 'No such setting', ['USER_SETTING_NOT_FOUND']);
    return reply.type('application/json').send(JSON.stringify(setting.value));
  });
  const deleteSettings = scoped(parts, 'account:information', 'flat', (request, reply, principal) => {
    const body = readJsonBody(deleteSettingsBody, request);
    if ('fault' in body) return refuse(reply, 400, body.fault);
    const { category } = request.params as { readonly category: string };
    const missing = parts.users.deleteSettings(subjectOf(principal), category, body.value.keys);
    return missing === undefined ? {} : refuse(reply, 404, 'A key is not there; nothing was deleted', missing);
  });
  app.get('/v1/config/:category/user-settings/:key', readSetting);
  app.delete('/v1/config/:category/user-settings', deleteSettings);
}

function refuse(reply: FastifyReply, status: number, message: string, key?: string): FastifyReply {
  const metadata = key === undefined ? {} : { metadata: { key: key.toWellFormed() } };
  return sendFlat(reply, status, message, [settingDeleteError], metadata);
}
