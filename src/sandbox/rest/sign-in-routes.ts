import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { authorizeScreenPath, confirmPath, mfaPath, signInPath } from '../../venue/platform/wire/oauth.ts';
import {
  type AuthorizationRequest,
  type ReadAuthorization,
  type RedirectedError,
  readAuthorizationRequest,
} from '../auth/authorization-request.ts';
import type { SignInResult } from '../auth/sign-ins.ts';
import { readTokenRequest } from '../auth/token-request.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { mediaTypeOf } from './read-request.ts';
import { confirmPage, mfaPage, signInPage, stopPage } from './sign-in-page.ts';

/**
 * The sign-in screen and its form's target (specification, "OAuth2"; docs/platform-assumptions.md,
 * "OAuth2"). On the screen's address.
 */
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

/**
 * The steps after the password. On the base address, as the specification has them, and beside the
 * screen: its forms post to them.
 */
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
  return { redirectUri, error: 'access_denied', description: 'The user said no', state };
}

const ownFields = new Set(['username', 'password', 'decision']);

/** The authorization request in a form, without the user's own fields. */
function requestEntries(entries: Iterable<[string, string]>): [string, string][] {
  return [...entries].filter(([name]) => !ownFields.has(name));
}

/** A form gets pages and redirects, everything else JSON. */
function readBody(
  request: FastifyRequest,
  reply: FastifyReply,
): { answers: SignInAnswers; entries?: [string, string][] } {
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

function enter(
  parts: SandboxParts,
  request: FastifyRequest,
  step: string,
  result: SignInResult,
  username?: string,
): void {
  const user = username?.slice(0, 100);
  parts.ledger.enter('sign_in', { request: request.ledgerSeq, step, result: result.kind, user });
}

/** A sign-in step's answers: in JSON, or as pages and redirects for a browser. */
interface SignInAnswers {
  /** `step` names the page that a wrong answer comes back to. */
  result(reply: FastifyReply, result: SignInResult, step: SignInStep): FastifyReply;
  refused(reply: FastifyReply, refusal: RedirectedError): FastifyReply;
  untrusted(reply: FastifyReply, description: string): FastifyReply;
}

type SignInStep =
  | { readonly at: 'password'; readonly entries: readonly [string, string][] }
  | { readonly at: 'mfa'; readonly nextStepAuthId: string }
  | { readonly at: 'confirm' };

/** Contract, "OAuth2"; errors as RFC 6749. */
const jsonAnswers: SignInAnswers = {
  result(reply, result) {
    switch (result.kind) {
      case 'code':
        return reply.send({
          code: result.code,
          state: result.request.state,
          redirect_uri: result.request.redirectUri,
        });
      case 'mfa':
        return reply.send({ is_mfa: true, next_step_auth_id: result.nextStepAuthId });
      case 'confirm':
        return reply.send({ next_step_auth_id: result.nextStepAuthId });
      case 'denied':
        return reply.code(401).send({ error: 'access_denied', error_description: result.description });
      case 'wait':
        return tooMany(reply, result.waitMs).send({ error: 'temporarily_unavailable', error_description: tooManyText });
    }
  },
  refused(reply, { error, description, state, redirectUri }) {
    const status = error === 'access_denied' ? 403 : 400;
    return reply.code(status).send({ error, error_description: description, state, redirect_uri: redirectUri });
  },
  untrusted: (reply, description) => reply.code(400).send({ error: 'invalid_request', error_description: description }),
};

/**
 * 303, so that no browser sends the form with the password on to the client (RFC 9700, section
 * 4.12).
 */
const htmlAnswers: SignInAnswers = {
  result(reply, result, step) {
    switch (result.kind) {
      case 'code':
        return back(reply, result.request.redirectUri, { code: result.code, ...stateOf(result.request) });
      case 'mfa':
        return sendPage(reply, 200, mfaPage(result.nextStepAuthId), result.request);
      case 'confirm':
        return sendPage(reply, 200, confirmPage(result.request, result.nextStepAuthId), result.request);
      case 'denied':
        return again(reply.code(401), result.request, step, result.description);
      case 'wait':
        return again(tooMany(reply, result.waitMs), result.request, step, tooManyText);
    }
  },
  refused: (reply, { redirectUri, error, description, state }) =>
    back(reply, redirectUri, { error, error_description: description, ...(state !== undefined && { state }) }),
  untrusted: (reply, description) => sendPage(reply, 400, stopPage(description)),
};

const tooManyText = 'Too many wrong answers; wait a moment';

/**
 * Pages with a password may not be framed, cached or scripted, and do not tell another site the
 * user's last address (RFC 9700, sections 4.2.4 and 4.16). The form may lead to ourselves and, by
 * the redirect after it, to the client's own address: browsers hold `form-action` against both.
 */
function sendPage(reply: FastifyReply, status: number, html: string, request?: AuthorizationRequest): FastifyReply {
  const target = request === undefined ? '' : ` ${sourceOf(request.redirectUri)}`;
  const policy = `default-src 'none'; style-src 'unsafe-inline'; form-action 'self'${target}; frame-ancestors 'none'; base-uri 'none'`;
  return reply
    .code(status)
    .header('content-security-policy', policy)
    .header('x-frame-options', 'DENY')
    .header('x-content-type-options', 'nosniff')
    .type('text/html; charset=utf-8')
    .send(html);
}

function again(
  reply: FastifyReply,
  request: AuthorizationRequest | undefined,
  step: SignInStep,
  description: string,
): FastifyReply {
  const { statusCode } = reply;
  if (request === undefined || step.at === 'confirm') return sendPage(reply, statusCode, stopPage(description));
  if (step.at === 'mfa') return sendPage(reply, statusCode, mfaPage(step.nextStepAuthId, description), request);
  return sendPage(reply, statusCode, signInPage(request, step.entries, description), request);
}

/** A registered address is kept as it is, including its own query (RFC 6749, section 3.1.2). */
function back(reply: FastifyReply, redirectUri: string, parameters: Readonly<Record<string, string>>): FastifyReply {
  const query = new URLSearchParams(parameters).toString();
  return reply.redirect(`${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${query}`, 303);
}

function stateOf({ state }: AuthorizationRequest): { state?: string } {
  return state === undefined ? {} : { state };
}

function tooMany(reply: FastifyReply, waitMs: number): FastifyReply {
  return reply.code(429).header('retry-after', String(Math.ceil(waitMs / 1000)));
}

function sourceOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri);
  return protocol === 'http:' || protocol === 'https:' ? `${protocol}//${host}` : protocol;
}
