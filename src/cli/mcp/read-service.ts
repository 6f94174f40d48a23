import { z } from 'zod';
import { accountList } from '../../contract/account-answers.ts';
import { statusAnswer } from '../../contract/status-answer.ts';
import { present } from '../../domain/present.ts';
import type { RestClient } from '../rest/rest-client.ts';
import { query } from '../rest/rest-flags.ts';
import { cursor, excerpt, pageAnswer, pageLimit, readRest, tool } from './tool.ts';

const mostHalts = 20;

export const serviceStatus = tool({
  name: 'service_status',
  title: 'Show whether the data can be trusted',
  description:
    'The verdict on the service: whether its data can be trusted, and each doubt with its reason. Also halts in force, unresolved commands, and rows that wait.',
  scopes: ['ops:read'],
  input: z.strictObject({}),
  run: async (session) => {
    const status = await readRest(session.client(), '/v1/status', 'its state', statusAnswer);
    const { trust, at, version, halts, commands, lag, latency, updatesPerSecond, silentLossesLastHour, deadLetters } =
      status;
    const doubts = trust.doubts.map((doubt) => ({ ...doubt, detail: excerpt(doubt.detail) }));
    const verdict = trust.trusted
      ? 'The data can be trusted: there is no doubt.'
      : 'The data may not be as it is shown:';
    return {
      lines: [verdict, ...doubts.map(({ name, detail }) => `${name}: ${detail}`)],
      data: {
        at,
        version,
        trusted: trust.trusted,
        doubts,
        commands,
        lag,
        latency,
        updatesPerSecond,
        silentLossesLastHour,
        deadLetters,
        halts: halts.slice(0, mostHalts).map((halt) => ({ ...halt, reason: excerpt(halt.reason) })),
        haltsInForce: halts.length,
      },
    };
  },
});

export function readAccounts(client: RestClient, filter: Readonly<Record<string, string | undefined>>) {
  return readRest(client, `/v1/accounts${query(filter)}`, 'accounts', accountList);
}

export const listAccounts = tool({
  name: 'list_accounts',
  title: 'List accounts',
  description:
    'The accounts of this token that the service follows, one row for each account and stream, with their state. isSim: a simulated account, without real money.',
  scopes: ['orders:read', 'ops:read'],
  input: z.strictObject({ limit: pageLimit, cursor }),
  run: async (session, { limit, cursor: from }) => {
    const page = await readAccounts(session.client(), { limit: String(limit), cursor: from });
    return pageAnswer('accounts', page, {
      none: 'No account is followed.',
      line: ({ accountId, stream, isSim, state = 'state not known', openOrders }) =>
        [accountId, stream, isSim ? 'simulated' : 'real money', state, `${openOrders} open`].join('  '),
      short: ({ accountId, stream, isSim, openOrders, state, since, lastError }) =>
        present({
          accountId,
          stream,
          isSim,
          openOrders,
          state,
          since,
          lastError: lastError && excerpt(lastError),
        }),
    });
  },
});
