import { confirmPath, mfaPath, signInPath } from '../../venue/platform/wire/oauth.ts';
import type { AuthorizationRequest } from '../auth/authorization-request.ts';

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:26rem;margin:10vh auto;padding:0 1rem;color:#1a1a1a}
label{display:block;margin:.75rem 0}input{display:block;width:100%;padding:.5rem;font:inherit;box-sizing:border-box}
button{padding:.5rem 1rem;font:inherit;margin-right:.5rem}.error{color:#a40000}ul{padding-left:1.25rem}small{color:#555}`;

/**
 * The screen to sign in and consent: plain HTML, no script. `entries` are the request's own
 * parameters, carried along.
 */
export function signInPage(
  request: AuthorizationRequest,
  entries: readonly [string, string][],
  error?: string,
): string {
  const scopes = [...request.scopes].map((scope) => `<li>${asText(scope)}</li>`).join('');
  return page(
    'Sign in',
    `<p><strong>${asText(request.client.clientId)}</strong> asks for:</p><ul>${scopes}</ul>
${alert(error)}<form method="post" action="${signInPath}">${hidden(entries)}
<label>User name<input name="username" autocomplete="username" autofocus></label>
<label>Password<input name="password" type="password" autocomplete="current-password"></label>
<button type="submit" name="decision" value="allow">Sign in and allow</button>
<button type="submit" name="decision" value="deny">Deny</button></form>
<p><small>You will be sent back to ${asText(request.redirectUri)}</small></p>`,
  );
}

/** The second factor. */
export function mfaPage(nextStepAuthId: string, error?: string): string {
  return page(
    'Verification code',
    `${alert(error)}<form method="post" action="${mfaPath}">${hidden([['next_step_auth_id', nextStepAuthId]])}
<label>6-digit code<input name="verification_code" inputmode="numeric" pattern="[0-9]{6}" maxlength="6" autocomplete="one-time-code" required autofocus></label>
<button type="submit">Verify</button></form>`,
  );
}

/** The last step after the second factor. */
export function confirmPage(request: AuthorizationRequest, nextStepAuthId: string): string {
  return page(
    'Allow access',
    `<p><strong>${asText(request.client.clientId)}</strong> will get access to your accounts.</p>
<form method="post" action="${confirmPath}">${hidden([['next_step_auth_id', nextStepAuthId]])}
<button type="submit" name="decision" value="allow" autofocus>Allow</button>
<button type="submit" name="decision" value="deny">Deny</button></form>`,
  );
}

/** For a user who cannot be sent back. */
export function stopPage(description: string): string {
  return page('Sign-in is not possible', `<p class="error" role="alert">${asText(description)}</p>`);
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${style}</style></head>
<body><main><h1>${title}</h1>
${body}
<p><small>A made-up platform. Nothing here is real.</small></p></main></body></html>
`;
}

function alert(error: string | undefined): string {
  return error === undefined ? '' : `<p class="error" role="alert">${asText(error)}</p>\n`;
}

function hidden(entries: readonly (readonly [string, string])[]): string {
  return entries
    .map(([name, value]) => `<input type="hidden" name="${asText(name)}" value="${asText(value)}">`)
    .join('');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function asText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
