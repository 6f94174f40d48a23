import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { refreshModes } from '../auth/refresh-tokens.ts';
import { clientPart, userPart } from '../sandbox-options.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { seatClient, seatUser } from '../seat-cast.ts';

const refreshPart = z.strictObject({ mode: z.enum(refreshModes) });
const endLogins = z.strictObject({ username: z.string().optional(), clientId: z.string().optional() });

/** The client center of a running sandbox: users, apps and their redirect URIs, and the fate of logins. One that is there already is replaced. */
export function castVerbs(app: FastifyInstance, parts: SandboxParts): void {
  app.post('/users', async (request, reply) => {
    const user = userPart.parse(request.body);
    const taken = user.accounts.find(({ id }) => (parts.exchange.accounts.get(id)?.owner ?? user.username) !== user.username);
    if (taken !== undefined)
      return reply.code(409).send({ error: `the account ${taken.id} is another user's`, code: 'not_possible' });
    seatUser(parts.exchange, parts.directory, user);
    return { username: user.username };
  });
  app.post('/clients', async (request) => {
    const client = clientPart.parse(request.body);
    seatClient(parts.directory, client);
    return { clientId: client.clientId };
  });
  app.post('/refresh-mode', async (request) => {
    const { mode } = refreshPart.parse(request.body);
    parts.refreshTokens.mode = mode;
    parts.ledger.enter('fault', `,"what":"refresh_mode","mode":"${mode}"`);
    return { mode };
  });
  // As when a user takes the consent back: the next refresh is refused for good, and the access tokens end now.
  app.post('/end-logins', async (request) => {
    const { username, clientId } = endLogins.parse(request.body ?? {});
    const fits = (login: { username?: string; clientId: string }) =>
      (username ?? login.username) === login.username && (clientId ?? login.clientId) === login.clientId;
    const logins = parts.refreshTokens.revoke(fits);
    const tokens = parts.tokens.revoke((principal) => principal.loginId !== undefined && fits(principal));
    parts.ledger.enter('fault', `,"what":"end_logins","logins":${logins},"tokens":${tokens}`);
    return { logins, tokens };
  });
}
