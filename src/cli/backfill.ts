import { Option } from 'commander';
import type { z } from 'zod';
import { type AccountRepairDocument, accountRepairList } from '../contract/account-answers.ts';
import { streams } from '../domain/order.ts';
import { linesText } from './io/format-text.ts';
import { endAs, follow, stillAsked } from './rest/follow.ts';
import { type RestFlags, reasonText, segment, waitSeconds } from './rest/rest-flags.ts';
import type { Verb, VerbRun } from './rest/verb.ts';

const examples = `
Examples:
  $ tidemark backfill SIM-1001                       both streams of the account, whole
  $ tidemark backfill SIM-1001 --stream prediction --wait 600
  $ tidemark backfill SIM-1001 --json | jq -r '.[].result'

The running service does it: the process that follows the account reads it from the platform, from its first order on, as audits do. It is asked over REST: the token needs ops:write, and ops:read.
Exit codes: 0 done, 1 it failed, 69 no service answers, 75 it is not done in time (it goes on without this command), 77 not allowed with this token.`;

interface BackfillFlags extends RestFlags {
  readonly stream?: string;
  readonly wait: number;
  readonly reason: string;
}

type Reads = z.infer<typeof accountRepairList> & { readonly account?: string };

export const backfillVerb: Verb<typeof accountRepairList, BackfillFlags, Reads> = {
  name: 'backfill',
  does: 'Has the running service read a whole account, and waits until it is committed.',
  help: examples,
  route: 'POST /v1/accounts/{accountId}/backfill',
  takes: [['<account>', 'id of the account']],
  flags: (command) =>
    command
      .addOption(new Option('--stream <name>', 'only this stream').choices(streams))
      .option('--wait <seconds>', 'how long to wait for the answer', waitSeconds(99_999), 300)
      .option('--reason <text>', 'why: recorded in the audit trail', reasonText, 'at the command line'),
  ask: ({ reason, stream }) => ({ body: { reason, stream } }),
  about: 'reads of an account',
  answer: accountRepairList,
  complete: untilRead,
  text: ({ items, account = '' }) =>
    linesText(items.map(answerOf).map(({ stream, result, detail }) => `${stream} ${account}: ${result}, ${detail}`)),
  json: (_body, shown) => shown?.items.map(answerOf),
  end: (io, { items }) => endAs(io, items.map(answerOf)),
};

async function untilRead(
  { items: asked }: Reads,
  { io, client, flags, args: [account = ''] }: VerbRun<BackfillFlags>,
): Promise<Reads> {
  const items = await follow(io, asked, {
    read: async () => {
      const path = `/v1/accounts/${segment(account)}/repairs`;
      const { items: newest } = await client.read(path, backfillVerb.about, accountRepairList);
      return asked.map((each) => newest.find(({ requestId }) => requestId === each.requestId) ?? each);
    },
    isOver: (newest) => newest.every(({ state }) => state !== 'waiting'),
    progress: (_newest, waitedMs) => ({ words: `the service reads ${account}, ${Math.floor(waitedMs / 1_000)} s` }),
    seconds: flags.wait,
  });
  return { items, account };
}

function answerOf({ stream, state, detail }: AccountRepairDocument) {
  return { stream, result: state, detail: detail ?? (state === 'waiting' ? stillAsked : '-') };
}
