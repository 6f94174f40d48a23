import { describe, expect, it } from 'vitest';
import { policyOf } from '../../../src/service/rest/console/build-site.ts';
import { ConsoleSignIn } from '../../../src/service/rest/console/console-sign-in.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const options = {
  issuer: 'https://id.example/desk',
  audience: 'https://tidemark.example',
  clientId: 'console',
  scope: 'openid orders:read',
};
const metadata = {
  issuer: options.issuer,
  authorization_endpoint: 'https://login.example/authorize',
  token_endpoint: 'https://tokens.example/token',
  authorization_response_iss_parameter_supported: true,
};
const openIdAddress = 'https://id.example/desk/.well-known/openid-configuration';
const oauthAddress = 'https://id.example/.well-known/oauth-authorization-server/desk';

/**
 * Its issuer answers by address; an address that is missing is 404, and
 * a text is an answer that cannot be read.
 */
async function started(answers: Record<string, unknown>) {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const fetchIt = async (url: string) => {
    asked.push(url);
    const answer = answers[url];
    if (answer === undefined) return new Response('', { status: 404 });
    return new Response(typeof answer === 'string' ? answer : JSON.stringify(answer));
  };
  const signIn = new ConsoleSignIn({ fetch: fetchIt as typeof fetch, clock, log: silentLog }, options);
  signIn.start();
  await clock.advance(1);
  return { signIn, clock, asked, answers };
}

describe('sign-in of the console', () => {
  it('is described with the part of the metadata that a sign-in needs, and nothing else of it', async () => {
    const { signIn } = await started({
      [openIdAddress]: { ...metadata, registration_endpoint: 'https://id.example/register' },
    });
    expect(signIn.document()).toEqual({ issuer: { ...options, metadata } });
  });

  it('lets the page ask the origins of the issuer, of its tokens and of their end, and no other', async () => {
    const withEnd = { ...metadata, revocation_endpoint: 'https://tokens.example/revoke' };
    const { signIn } = await started({ [openIdAddress]: withEnd });
    expect(signIn.origins()).toEqual(['https://id.example', 'https://tokens.example']);
    const policy = policyOf(signIn.origins());
    expect(policy).toContain("; connect-src 'self' https://id.example https://tokens.example; ");
    expect(policy).toContain("default-src 'none'");
  });

  it('finds metadata at the address of RFC 8414 too', async () => {
    const { signIn, asked } = await started({ [oauthAddress]: metadata });
    expect(asked).toEqual([openIdAddress, oauthAddress]);
    expect(signIn.document().issuer?.metadata).toEqual(metadata);
  });

  it.each([
    ['is another issuer, be it by a slash only', { ...metadata, issuer: `${options.issuer}/` }],
    ['has no token endpoint', { ...metadata, token_endpoint: undefined }],
    ['leads to an address of a script', { ...metadata, authorization_endpoint: 'javascript:alert(1)' }],
    ['is no JSON', '<html>'],
  ])('takes no metadata that %s, and asks again after 5 s', async (_what, answer) => {
    const { signIn, clock, answers } = await started({ [openIdAddress]: answer });
    expect(signIn.document()).toEqual({ issuer: options });
    expect(signIn.origins()).toEqual(['https://id.example']);
    answers[openIdAddress] = metadata;
    await clock.advance(5_000);
    expect(signIn.document().issuer?.metadata).toEqual(metadata);
  });

  it('keeps the metadata while the issuer is away, and asks nothing after its end', async () => {
    const { signIn, clock, asked, answers } = await started({ [openIdAddress]: metadata });
    answers[openIdAddress] = 'away';
    await clock.advance(600_000);
    expect([asked.length, signIn.document().issuer?.metadata]).toEqual([2, metadata]);
    signIn.stop();
    await clock.advance(1_200_000);
    expect(asked).toHaveLength(2);
  });
});
