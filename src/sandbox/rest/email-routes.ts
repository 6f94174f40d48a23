import type { FastifyInstance } from 'fastify';
import { changeEmailBody, changeEmailPath } from '../../platform/wire/change-email.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { subjectOf } from '../users/user-records.ts';
import { sendFlat } from './error-bodies.ts';
import { readJsonBody } from './read-json-body.ts';
import { requireScope } from './require-scope.ts';

/** `POST /v1/users/me/email/change` (specification, "Users and settings"). Errors are flat bodies. */
export function emailRoutes(app: FastifyInstance, parts: SandboxParts): void {
  app.post(changeEmailPath, async (request, reply) => {
    const principal = await requireScope(parts.tokens, request, reply, 'user:information', 'flat');
    if (principal === undefined) return reply;
    const body = readJsonBody(changeEmailBody, request);
    if ('fault' in body) return sendFlat(reply, 400, body.fault, [body.code === 'INVALID_JSON' ? body.code : 'INVALID_EMAIL']);
    parts.users.changeEmail(subjectOf(principal), body.value.email);
    return reply.send({});
  });
}
