import type { FastifyReply } from 'fastify';
import type { AuthorizationRequest, RedirectedError } from '../auth/authorization-request.ts';
import type { SignInResult } from '../auth/sign-ins.ts';
import { confirmPage, mfaPage, signInPage, stopPage } from './sign-in-page.ts';

/** How the steps of a sign-in answer: in JSON, or as pages and redirects for a browser. */
export interface SignInAnswers {
  /** `step` names the page that a wrong answer comes back to. */
  result(reply: FastifyReply, result: SignInResult, step: SignInStep): FastifyReply;
  refused(reply: FastifyReply, refusal: RedirectedError): FastifyReply;
  untrusted(reply: FastifyReply, description: string): FastifyReply;
}

export type SignInStep =
  | { readonly at: 'password'; readonly entries: readonly [string, string][] }
  | { readonly at: 'mfa'; readonly nextStepAuthId: string }
  | { readonly at: 'confirm' };

/** Contract, "OAuth2"; errors as RFC 6749. */
export const jsonAnswers: SignInAnswers = {
  result(reply, result) {
    switch (result.kind) {
      case 'code':
        return reply.send({ code: result.code, ...stateOf(result.request), redirect_uri: result.request.redirectUri });
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
    const body = { error, error_description: description, ...(state !== undefined && { state }), redirect_uri: redirectUri };
    return reply.code(status).send(body);
  },
  untrusted: (reply, description) => reply.code(400).send({ error: 'invalid_request', error_description: description }),
};

/** 303, so that no browser sends the form with the password on to the client (RFC 9700, section 4.12). */
export const htmlAnswers: SignInAnswers = {
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
 * Pages that hold a password may not be framed, cached or scripted, and tell no other site where the user came from (RFC 9700, sections 4.2.4 and 4.16). The
 * form may lead to ourselves and, by the redirect after it, to the client's own address: browsers hold `form-action` against both.
 */
export function sendPage(reply: FastifyReply, status: number, html: string, request?: AuthorizationRequest): FastifyReply {
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

/** A registered address is kept as it is, a query of its own included (RFC 6749, section 3.1.2). */
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
