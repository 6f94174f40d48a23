import { baseUrl, host, inGroup, integer, list, oneOf, onOff, secret, staticTokens, text, url } from './option.ts';

/**
 * REST: its callers and its address, and the address at which commands on the command line find it.
 */
export const restOptions = {
  ...inGroup('REST', {
    httpPort: integer({
      env: 'TIDEMARK_HTTP_PORT',
      min: 0,
      max: 65_535,
      fallback: '8080',
      describe: 'Port of REST, the event stream and their documentation. 0 takes any free one, which the log names.',
    }),
    httpHost: host({
      env: 'TIDEMARK_HTTP_HOST',
      fallback: '127.0.0.1',
      describe:
        'Address that REST listens on. Anything but loopback needs `TIDEMARK_AUTH_ISSUER`, `TIDEMARK_AUTH_TOKENS` or `TIDEMARK_AUTH_PRINCIPALS`; on loopback without any of them, everybody on the machine may do everything.',
    }),
    advertisedUrl: baseUrl({
      env: 'TIDEMARK_ADVERTISED_URL',
      describe:
        "Where the other processes of the fleet reach REST of this one. They forward commands there, with the caller's token. Without it: the loopback address, or this machine's name if REST listens on more than loopback.",
    }),
    httpOrigins: list({
      env: 'TIDEMARK_HTTP_ORIGINS',
      // As a browser writes them: without a port if it is the scheme's default.
      pattern:
        /^(?:https:\/\/(?!.*:443$)|http:\/\/(?!.*:80$))(?:[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,10}|\[[0-9a-f:]{2,39}\])(?::[1-9]\d{0,4})?$/,
      shape:
        'origins in lower case, without a path and without the default port (https://desk.example.com), separated by commas',
      describe:
        'Origins whose web pages may use REST and the event stream from a browser (CORS), with a token of their own. Where there is no sign-in, such a page may do everything: name only pages that you run yourself.',
    }),
    authIssuer: url({
      env: 'TIDEMARK_AUTH_ISSUER',
      describe:
        'The `iss` of accepted JWTs, to the letter, also a slash at its end. Needs `TIDEMARK_AUTH_AUDIENCE` and `TIDEMARK_AUTH_JWKS_URL`.',
    }),
    authAudience: text({
      env: 'TIDEMARK_AUTH_AUDIENCE',
      pattern: /^[\x21-\x7e]{1,255}$/,
      shape: 'one audience',
      describe: 'What the `aud` of a JWT has to contain.',
    }),
    authJwksUrl: url({
      env: 'TIDEMARK_AUTH_JWKS_URL',
      describe: "Where the issuer's public keys are. Read when a key is not known, at most every 30 s.",
    }),
    authAlgorithms: list({
      env: 'TIDEMARK_AUTH_ALGORITHMS',
      pattern: /^(RS256|RS384|RS512|PS256|PS384|PS512|ES256|ES384|ES512|EdDSA|Ed25519)$/,
      shape: 'algorithms with a public key, separated by commas (RS256, PS256, ES256, EdDSA …)',
      fallback: 'RS256,PS256,ES256,EdDSA',
      describe: 'Which signatures of a JWT are accepted. A shared secret or none is never one of them.',
    }),
    authTyp: oneOf({
      env: 'TIDEMARK_AUTH_TYP',
      words: ['at+jwt', 'jwt'],
      fallback: 'at+jwt',
      describe:
        'The `typ` in the header of a JWT (RFC 9068). `at+jwt`: only tokens that say `at+jwt`. `jwt`: also those of issuers that write `JWT` or nothing, unless `nonce`, `at_hash` or `c_hash` shows an ID token.',
    }),
    authTokens: staticTokens({
      env: 'TIDEMARK_AUTH_TOKENS',
      describe:
        'Tokens by their hash, for services without an identity provider and for emergencies. Tokens of the same name are one caller; `name@2027-01-31` ends as that day begins (UTC). Scopes are `orders:read`, `orders:write`, `ops:read`, `ops:write`; accounts are ids or `*`; both separated by commas. To hash a token: `printf %s "$TOKEN" | sha256sum`.',
    }),
    authPrincipals: onOff({
      env: 'TIDEMARK_AUTH_PRINCIPALS',
      fallback: 'off',
      describe:
        'Accepts the tokens of the table `principal_tokens` as well (`tidemark token`), so a token can be made or revoked without a restart.',
    }),
    console: onOff({
      env: 'TIDEMARK_CONSOLE',
      fallback: 'on',
      describe:
        'Serves the console, a web page, under `/console` on the port of REST. It holds no data: it asks REST with the token of its reader.',
    }),
    consoleDemoUrl: baseUrl(
      {
        env: 'TIDEMARK_CONSOLE_DEMO_URL',
        describe:
          'Set by `tidemark demo`: its own server, for the console\'s page "Break it". Loopback only, and only without sign-in.',
      },
      ['http'],
    ),
    consoleClientId: text({
      env: 'TIDEMARK_CONSOLE_CLIENT_ID',
      pattern: /^[\x21-\x7e]{1,255}$/,
      shape: 'a client id',
      describe:
        'The client id of the console at `TIDEMARK_AUTH_ISSUER`. This client has no secret, uses the code flow with PKCE, and has the redirect address `<address of the console>/signed-in`. Without it, readers type a token in.',
    }),
    consoleScope: text({
      env: 'TIDEMARK_CONSOLE_SCOPE',
      pattern: /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/,
      shape: 'words separated by single blanks',
      fallback: 'openid offline_access orders:read orders:write ops:read ops:write',
      describe:
        'The scopes that the console asks for. `openid` brings an ID token, which shows that the answer belongs to this sign-in. `offline_access` brings a refresh token.',
    }),
    consoleResource: text({
      env: 'TIDEMARK_CONSOLE_RESOURCE',
      pattern: /^[a-z][a-z0-9+.-]*:[\x21\x24-\x7e]{1,250}$/i,
      shape: 'an absolute URI without a fragment',
      describe:
        'The `resource` of RFC 8707, for issuers that need it to make a token for `TIDEMARK_AUTH_AUDIENCE`. The audience itself is always sent as `audience`.',
    }),
  }),

  ...inGroup('Command line', {
    restUrl: baseUrl({
      env: 'TIDEMARK_URL',
      describe:
        'Where `place`, `command ls` and the others find REST of a running service. Without it: this machine, at `TIDEMARK_HTTP_PORT`.',
    }),
    token: secret({
      env: 'TIDEMARK_TOKEN',
      shape: 'a bearer token, without blanks',
      pattern: /^[\x21-\x7e]{1,8192}$/,
      describe: 'The token with which these commands sign in. On loopback without sign-in none is needed.',
    }),
  }),
} as const;
