import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { commandDefaults } from '../../../src/service/commands/command-options.ts';
import { CommandService } from '../../../src/service/commands/command-service.ts';
import { storeParts } from '../../../src/service/run/store-parts.ts';
import { failedLook } from '../../support/commands/command-rig.ts';
import { readRig } from '../../support/orders/read-rig.ts';
import { type Answered, ask, sha256, startRest } from '../../support/rest/rest-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { testLog } from '../../support/runs/test-log.ts';

describe('issue: A cancel took 4 s in place of 20 ms while another token read its pages.', () => {
  const [reader, desk] = ['token-of-the-reader', 'token-of-the-desk'];
  const readersAtOnce = 40;

  /** A command side whose platform accepts everything, over the real journal. */
  function commandsOver(
    journal: ConstructorParameters<typeof CommandService>[0]['journal'],
    lease: Lease,
  ): CommandService {
    const failed = async () => failedLook('there is no platform');
    return new CommandService(
      {
        journal,
        lease,
        ...{ clock: systemClock, random: systemRandom, log: silentLog, metrics: createMetrics().commands },
        shardOf: () => 0,
        quotes: { lastQuote: async () => undefined },
        entry: {
          send: async (_request, _attemptId, { mayWrite }) => {
            if (!(await mayWrite())) throw new Error('the write was not permitted');
            return { kind: 'accepted', answer: { status: 202 } };
          },
        },
        accounts: {
          hasListed: true,
          streams: ['account', 'prediction'],
          standing: () => ({ isOpen: true }),
          account: () => ({
            ...{ live: true, isSim: true, certain: true, notEnrolled: false },
            ...{ lookFor: failed, lookAtAll: failed, lookAtOpen: failed, lookAt: failed, expectReply: () => () => {} },
          }),
        },
      },
      { ...commandDefaults, enabled: true, accounts: [] },
    );
  }

  // 60 pages of one token at a time took another's cancels from 20 ms to 4 s: they waited behind
  // them for a connection, for the event loop and for Postgres.
  it('a cancel and its evidence pass while all of the room for reads is taken, and none of the reads is answered', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = stack.use(await readRig());
    await rig.store({ orderId: 'order-1', accountId: 'acct-1' });
    const store = storeParts(
      { clock: systemClock, random: systemRandom, log: testLog },
      { url: rig.database.url, poolSize: 2 },
    );
    stack.defer(() => store.close());
    const lease = new Lease(systemClock, 1e9);
    lease.confirm(rig.epoch, systemClock.monotonicMs());
    const commands = commandsOver(store.journal, lease);
    await commands.begin({ shard: 0, epoch: rig.epoch });
    stack.defer(() => commands.endAll());
    const scopes = ['orders:read', 'orders:write'];
    const rest = await startRest({
      ports: { commands, reads: store.reads, commandReads: store.commandReads },
      auth: {
        tokens: [
          { name: 'reader', sha256: sha256(reader), scopes, accounts: 'all' },
          { name: 'desk', sha256: sha256(desk), scopes, accounts: 'all' },
        ],
      },
    });
    stack.defer(() => rest.server.drain(AbortSignal.abort()));
    // Every read of accounts now waits for this lock: the capacity of
    // reads is taken for as long as the test likes.
    const rival = await rig.rival();
    await rival.query('begin; lock table accounts in access exclusive mode');
    const answers: Answered[] = [];
    const headers = { authorization: `Bearer ${reader}` };
    const asking = Array.from({ length: readersAtOnce }, async () => {
      answers.push(await ask(`${rest.address}/v1/accounts`, { headers }));
    });
    await eventually(async () => {
      const { values } = await rest.metrics.rest.readsWaiting.get();
      if ((values[0]?.value ?? 0) === 0) throw new Error('nothing waits yet');
    });

    const cancel = await ask(`${rest.address}/v1/predictions/orders/order-1?accountId=acct-1`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${desk}`, 'idempotency-key': 'key-1', prefer: 'wait=1' },
    });
    const { values } = await rest.metrics.rest.readRows.get();
    expect(answers.filter(({ status }) => status === 200)).toEqual([]);
    expect(values[0]?.value).toBeGreaterThan(0);
    expect([cancel.status, cancel.body['result']]).toEqual([200, 'accepted']);
    expect(cancel.body['evidence']).toContainEqual(expect.objectContaining({ code: 'sending' }));

    await rival.query('rollback');
    await Promise.all(asking);
  });
});
