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
import { requireScope } from './require-scope.ts';

/** `GET /v2/users/me/accounts` (specification, "Users and settings"). */
export function accountRoutes(app: FastifyInstance, parts: SandboxParts): void {
  app.get(accountsPath, async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'account:information', 'flat');
    if (principal === undefined) return reply;
    return {
      accounts: parts.directory
        .accountsOf(principal)
        .filter(({ unlisted }) => unlisted !== true)
        .map(accountItem),
    };
  });
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
  app.post(changeEmailPath, async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'user:information', 'flat');
    if (principal === undefined) return reply;
    const body = readJsonBody(changeEmailBody, request);
    if ('fault' in body)
      return sendFlat(reply, 400, body.fault, [body.code === 'INVALID_JSON' ? body.code : 'INVALID_EMAIL']);
    parts.users.changeEmail(subjectOf(principal), body.value.email);
    return reply.send({});
  });
}

/**
 * Reading and deleting one's own settings (specification, "Users and settings"). Errors are flat
 * bodies.
 */
export function settingsRoutes(app: FastifyInstance, parts: SandboxParts): void {
  app.get<{ Params: { category: string; key: string } }>(
    '/v1/config/:category/user-settings/:key',
    async (request, reply) => {
      const principal = await requireScope(parts.tokens, request, reply, 'account:information', 'flat');
      if (principal === undefined) return reply;
      const { category, key } = request.params;
      const setting = parts.users.setting(subjectOf(principal), category, key);
      if (setting === undefined) return sendFlat(reply, 404, 'No such setting', ['USER_SETTING_NOT_FOUND']);
      return reply.type('application/json').send(JSON.stringify(setting.value));
    },
  );
  app.delete<{ Params: { category: string } }>('/v1/config/:category/user-settings', async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'account:information', 'flat');
    if (principal === undefined) return reply;
    const body = readJsonBody(deleteSettingsBody, request);
    if ('fault' in body) return refuse(reply, 400, body.fault);
    const missing = parts.users.deleteSettings(subjectOf(principal), request.params.category, body.value.keys);
    return missing === undefined
      ? reply.send({})
      : refuse(reply, 404, 'A key is not there; nothing was deleted', missing);
  });
}

function refuse(reply: FastifyReply, status: number, message: string, key?: string): FastifyReply {
  const metadata = key === undefined ? {} : { metadata: { key: key.toWellFormed() } };
  return sendFlat(reply, status, message, [settingDeleteError], metadata);
}
