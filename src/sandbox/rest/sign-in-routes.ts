import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { authorizeScreenPath, confirmPath, mfaPath, signInPath } from '../../platform/wire/sign-in.ts';
import {
  type AuthorizationRequest,
  type ReadAuthorization,
  type RedirectedError,
  readAuthorizationRequest,
} from '../auth/authorization-request.ts';
import type { SignInResult } from '../auth/sign-ins.ts';
import { readTokenRequest } from '../auth/token-request.ts';
import { jsonText } from '../exchange/wire-text.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { mediaTypeOf } from './read-request.ts';
import { htmlAnswers, jsonAnswers, type SignInAnswers, sendPage } from './sign-in-answers.ts';
import { signInPage } from './sign-in-page.ts';

/** The sign-in screen and where it posts to (specification, "OAuth2"; docs/platform-assumptions.md, "OAuth2"). On the address of the screen. */
export function signInRoutes(app: FastifyInstance, parts: SandboxParts): void {
  app.get(authorizeScreenPath, async (request, reply) => {
    closeUp(reply);
    const query = new URLSearchParams(request.url.split('?')[1] ?? '');
    const read = readAuthorizationRequest(parts.directory, query);
    if (read.kind !== 'request') return turnDown(reply, htmlAnswers, read);
    return sendPage(reply, 200, signInPage(read.request, requestEntries(query)), read.request);
  });
  app.post(signInPath, async (request, reply) => {
    const { answers, entries } = readBody(request, reply);
    if (entries === undefined) return answers.untrusted(reply, 'The body must be a form, or JSON with texts in it');
    const read = readAuthorizationRequest(parts.directory, requestEntries(entries));
    if (read.kind !== 'request') return turnDown(reply, answers, read);
    const own = new Map(entries);
    if (own.get('decision') === 'deny') return answers.refused(reply, userSaidNo(read.request));
    const username = own.get('username') ?? '';
    const result = parts.signIns.password(read.request, username, own.get('password') ?? '');
    enter(parts, request, 'password', result, username);
    return answers.result(reply, result, { at: 'password', entries: requestEntries(entries) });
  });
}

/** The steps after the password. On the base address, as the specification has them, and beside the screen, whose forms post to them. */
export function mfaRoutes(app: FastifyInstance, parts: SandboxParts): void {
  app.post(mfaPath, async (request, reply) => {
    const { answers, entries } = readBody(request, reply);
    const fields = new Map(entries);
    const nextStepAuthId = fields.get('next_step_auth_id');
    const verificationCode = fields.get('verification_code');
    if (nextStepAuthId === undefined || verificationCode === undefined)
      return answers.untrusted(reply, 'next_step_auth_id and verification_code are needed');
    const result = parts.signIns.verify(nextStepAuthId, verificationCode);
    enter(parts, request, 'mfa', result);
    return answers.result(reply, result, { at: 'mfa', nextStepAuthId });
  });
  app.post(confirmPath, async (request, reply) => {
    const { answers, entries } = readBody(request, reply);
    const fields = new Map(entries);
    const nextStepAuthId = fields.get('next_step_auth_id');
    if (nextStepAuthId === undefined) return answers.untrusted(reply, 'next_step_auth_id is needed');
    const denied = fields.get('decision') === 'deny' ? parts.signIns.deny(nextStepAuthId) : undefined;
    if (denied !== undefined) return answers.refused(reply, userSaidNo(denied));
    // A sign-in that is over can't be denied either, and answers the same.
    const result = parts.signIns.confirm(nextStepAuthId);
    enter(parts, request, 'confirm', result);
    return answers.result(reply, result, { at: 'confirm' });
  });
}

function userSaidNo({ redirectUri, state }: AuthorizationRequest): RedirectedError {
  return { redirectUri, error: 'access_denied', description: 'The user said no', ...(state !== undefined && { state }) };
}

const ownFields = new Set(['username', 'password', 'decision']);

/** The authorization request in a form, without the fields that the user added. */
function requestEntries(entries: Iterable<[string, string]>): [string, string][] {
  return [...entries].filter(([name]) => !ownFields.has(name));
}

/** A form gets pages and redirects, everything else JSON. */
function readBody(request: FastifyRequest, reply: FastifyReply): { answers: SignInAnswers; entries?: [string, string][] } {
  closeUp(reply);
  const contentType = request.headers['content-type'] ?? '';
  const body = Buffer.isBuffer(request.body) ? request.body.toString('utf8') : '';
  // Repeated fields are kept: the authorization request has an answer of its own for them.
  if (mediaTypeOf(contentType) === 'application/x-www-form-urlencoded')
    return { answers: htmlAnswers, entries: [...new URLSearchParams(body)] };
  const read = readTokenRequest(contentType, body);
  return 'refusal' in read ? { answers: jsonAnswers } : { answers: jsonAnswers, entries: [...read.parameters] };
}

function turnDown(
  reply: FastifyReply,
  answers: SignInAnswers,
  read: Exclude<ReadAuthorization, { kind: 'request' }>,
): FastifyReply {
  return read.kind === 'untrusted' ? answers.untrusted(reply, read.description) : answers.refused(reply, read.refusal);
}

/** Codes and steps stay in no cache and in no Referer. */
function closeUp(reply: FastifyReply): void {
  reply.header('cache-control', 'no-store').header('pragma', 'no-cache').header('referrer-policy', 'no-referrer');
}

function enter(parts: SandboxParts, request: FastifyRequest, step: string, result: SignInResult, username?: string): void {
  const user = username === undefined ? '' : `,"user":${jsonText(username.slice(0, 100))}`;
  parts.ledger.enter('sign_in', `,"request":${request.ledgerSeq},"step":"${step}","result":"${result.kind}"${user}`);
}
