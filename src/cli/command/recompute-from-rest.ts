import { type RecomputedVerdict, recomputeVerdict } from '../../domain/recompute-verdict.ts';
import type { SettlingUpdate } from '../../domain/settling.ts';
import { updatePage } from '../../schema/rest-answers.ts';
import { CliError } from '../cli-error.ts';
import type { RestClient } from '../rest-client.ts';
import { query } from '../rest-flags.ts';
import { decodeCommand, decodeEvidence, decodeUpdate } from './decode-command.ts';
import type { RestCommand } from './rest-command.ts';

/** What the evidence and the log of updates say of a command, computed here: the service is asked for the facts alone. */
export async function recomputeFromRest(client: RestClient, told: RestCommand): Promise<RecomputedVerdict> {
  const evidence = decodeEvidence(told);
  const named = evidence.map(({ detail }) => detail['orderId']).filter((id) => typeof id === 'string');
  const orderIds = new Set(told.orderId === undefined ? named : [told.orderId, ...named]);
  const updates: SettlingUpdate[] = [];
  for (const orderId of orderIds) updates.push(...(await readUpdates(client, told, orderId)));
  return recomputeVerdict(decodeCommand(told), evidence, updates);
}

/** All of an order's history that can tell anything: above the baseline. An order that is gone, or was never ours to see, tells nothing. */
async function readUpdates(client: RestClient, { stream, baseline }: RestCommand, orderId: string): Promise<SettlingUpdate[]> {
  const updates: SettlingUpdate[] = [];
  let after: string | undefined = String(baseline?.revision ?? 0);
  while (after !== undefined) {
    const path = `/v1/orders/${stream}/${encodeURIComponent(orderId)}/updates${query({ after, limit: '500' })}`;
    const answer = await client.ask({ method: 'GET', path }).catch((error: unknown) => {
      if (error instanceof CliError && error.code === 'ORDER_NOT_FOUND') return undefined;
      throw error;
    });
    if (answer === undefined) return updates;
    const page = updatePage.parse(answer.body);
    updates.push(...page.items.map(decodeUpdate));
    after = page.next;
  }
  return updates;
}
