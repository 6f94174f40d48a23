import { z } from 'zod';
import { accountList } from '../../contract/account-answers.ts';
import { present } from '../../contract/body-fields.ts';
import { statusAnswer } from '../../contract/status-answer.ts';
import { clip } from '../io/format-text.ts';
import { type RestClient, understood } from '../rest/rest-client.ts';
import { query } from '../rest/rest-flags.ts';
import { cursor, pageLimit } from './page-fields.ts';
import { readOnly, readRest, tool } from './tool.ts';

const mostText = 300;
const mostHalts = 20;

export const serviceStatus = tool({
  name: 'service_status',
  title: 'Show whether the data can be trusted',
  description:
    'The verdict on the service: whether its data can be trusted, and each doubt with its reason. Also halts in force, unresolved commands, and rows that wait.',
  scopes: ['ops:read'],
  annotations: readOnly,
  input: z.strictObject({}),
  run: async (session) => {
    const status = understood('its state', statusAnswer, await readRest(session.client(), '/v1/status'));
    const { trust, at, version, halts, commands, lag, latency, updatesPerSecond, silentLossesLastHour, deadLetters } =
      status;
    const doubts = trust.doubts.map((doubt) => ({ ...doubt, detail: clip(doubt.detail, mostText) }));
    const verdict = trust.trusted
      ? 'The data can be trusted: there is no doubt.'
      : 'The data may not be as it is shown:';
    return {
      lines: [verdict, ...doubts.map(({ name, detail }) => `${name}: ${detail}`)],
      data: {
        ...{
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
        },
        halts: halts.slice(0, mostHalts).map((halt) => ({ ...halt, reason: clip(halt.reason, mostText) })),
        haltsInForce: halts.length,
      },
    };
  },
});

export async function readAccounts(client: RestClient, filter: Readonly<Record<string, string | undefined>>) {
  return understood('accounts', accountList, await readRest(client, `/v1/accounts${query(filter)}`));
}

export const listAccounts = tool({
  name: 'list_accounts',
  title: 'List accounts',
  description:
    'The accounts of this token that the service follows, one row for each account and stream, with their state. isSim: a simulated account, without real money.',
  scopes: ['orders:read', 'ops:read'],
  annotations: readOnly,
  input: z.strictObject({ limit: pageLimit, cursor }),
  run: async (session, { limit, cursor: from }) => {
    const { items, next } = await readAccounts(session.client(), { limit: String(limit), cursor: from });
    const lines = items.map(({ accountId, stream, isSim, state, openOrders }) =>
      [accountId, stream, isSim ? 'simulated' : 'real money', state ?? 'state not known', `${openOrders} open`].join(
        '  ',
      ),
    );
    return {
      lines: [
        ...(lines.length === 0 ? ['No account is followed.'] : lines),
        ...(next === undefined ? [] : [`There are more: ask again with cursor ${next}`]),
      ],
      data: present({
        accounts: items.map(({ accountId, stream, isSim, openOrders, state, since, lastError }) =>
          present({
            accountId,
            stream,
            isSim,
            openOrders,
            state,
            since,
            lastError: lastError === undefined ? undefined : clip(lastError, mostText),
          }),
        ),
        next,
      }),
    };
  },
});
