import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { WriteResult } from '../../../src/venue/write-result.ts';
import {
  accepted,
  CommandRig,
  placeEquity,
  refused,
  replaceWorking,
  unknown,
  workingOrder,
} from '../../support/commands/command-rig.ts';

const answers: readonly WriteResult[] = [accepted, unknown, refused(400)];
const minute = 60_000;

/**
 * A journal whose calls take as long as the dice say, and now and then lose
 * their answer after or before they are done.
 */
function disturb(rig: CommandRig, dice: Iterator<number>): void {
  rig.journal.hook = async (_operation, transact) => {
    const roll = dice.next().value ?? 0;
    await rig.clock.sleep(roll % 40);
    if (roll % 13 === 1) throw new Error('lost before it was done');
    const answer = await transact();
    await rig.clock.sleep(roll % 7);
    if (roll % 11 === 1) throw new Error('lost after it was done');
    return answer;
  };
}

const rolls = fc.noShrink(fc.infiniteStream(fc.nat(1_000)));

describe('whatever comes first', () => {
  it('answer or stream: an order that landed ends as applied, and is written once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(2), fc.nat(60), fc.nat(60), rolls, async (which, answerMs, landMs, dice) => {
        const rig = await CommandRig.leading();
        await rig.commands.start();
        disturb(rig, dice);
        const result = answers[which] ?? accepted;
        for (let i = 0; i < 50; i += 1) rig.entry.scripts.push({ result, answerMs });
        rig.entry.onWrite = ({ attemptId }) => {
          const command = rig.journal.ofAttempt(attemptId);
          const number = command?.attempts.findIndex((attempt) => attempt.attemptId === attemptId);
          rig.clock.after(landMs, () => rig.land(command?.commandId ?? '', {}, number));
        };
        void rig.commands.submit(rig.submission(placeEquity));
        await rig.clock.advance(10 * minute);
        const states = [...rig.journal.commands.values()].map(({ state }) => state);
        expect(rig.entry.sent.length).toBeLessThanOrEqual(1);
        expect(states).toEqual(
          rig.entry.sent.length === 1 ? ['applied'] : states.filter((state) => state === 'not_sent'),
        );
        // The platform denied an order that we have seen: whichever
        // came first, a person hears of it.
        if (rig.entry.sent.length === 1)
          expect(rig.commands.operator.halts.list().length).toBe(result.kind === 'refused' ? 1 : 0);
      }),
      { numRuns: 10 },
    );
  });

  it('probe or stream: both find the same', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5_000 }), fc.boolean(), rolls, async (landMs, handed, dice) => {
        const rig = await CommandRig.leading();
        rig.entry.scripts.push({ result: unknown });
        const { commandId } = await rig.send(placeEquity);
        disturb(rig, dice);
        rig.clock.after(landMs, () => {
          const order = rig.landed(commandId);
          if (handed) rig.land(commandId);
          else {
            rig.orders.add({ revision: 1, sourceEpoch: 0, cause: 'probe', order });
            rig.orders.bind({ attemptId: order.clOrdId ?? '', commandId, orderId: order.orderId, matches: true });
          }
        });
        await rig.clock.advance(landMs + 6_000);
        expect(rig.state(commandId)).toBe('applied');
        const asked = rig.probes.asked.length;
        await rig.clock.advance(minute);
        expect(rig.probes.asked.length).toBe(asked);
      }),
      { numRuns: 10 },
    );
  });

  it('two submissions with one key: one command, one write', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(30), fc.integer({ min: 2, max: 6 }), rolls, async (apartMs, copies, dice) => {
        const rig = await CommandRig.leading();
        disturb(rig, dice);
        const asked = Array.from({ length: copies }, async (_, i) => {
          await rig.clock.sleep(i * apartMs);
          return rig.commands.submit(rig.submission(placeEquity, { idempotencyKey: 'k' }));
        });
        const results = await rig.during(Promise.all(asked));
        await rig.clock.advance(2 * minute);
        const ids = results.flatMap((result) => (result.kind === 'journaled' ? [result.command.commandId] : []));
        expect(new Set(ids).size).toBeLessThanOrEqual(1);
        expect(rig.journal.commands.size).toBeLessThanOrEqual(1);
        expect(rig.entry.sent.length).toBeLessThanOrEqual(1);
        expect([...rig.journal.commands.values()].every(({ state }) => state !== 'open')).toBe(true);
      }),
      { numRuns: 15 },
    );
  });

  it('takeover or answer: one write, and what was written ends unknown or as answered, never not sent', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(100), fc.nat(100), fc.nat(2), rolls, async (takeOverMs, answerMs, which, dice) => {
        const rig = await CommandRig.leading();
        const next = new CommandRig({}, rig);
        rig.commit(workingOrder);
        rig.entry.scripts.push({ result: answers[which] ?? accepted, answerMs });
        disturb(rig, dice);
        void rig.commands.submit(rig.submission(replaceWorking));
        await rig.clock.advance(takeOverMs);
        let begun = false;
        while (!begun)
          begun = await rig.during(
            next.commands.begin({ shard: 0, epoch: 2n }).then(
              () => true,
              () => false,
            ),
          );
        next.lease.confirm(2n, rig.clock.monotonicMs());
        await rig.clock.advance(minute);
        const sent = rig.entry.sent.length + next.entry.sent.length;
        expect(sent).toBeLessThanOrEqual(1);
        for (const { state } of rig.journal.commands.values()) {
          if (sent === 0) expect(['not_sent', 'unknown']).toContain(state);
          else expect(['unknown', answers[which]?.kind]).toContain(state);
        }
      }),
      { numRuns: 15 },
    );
  });
});

describe('a process that ends at any moment', () => {
  it('leaves nothing that is sent again, forgotten, or told wrongly by the next one', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 40 }), fc.nat(2), fc.boolean(), async (endsAt, which, lands) => {
        const rig = await CommandRig.leading();
        let calls = 0;
        let over = false;
        const never = new Promise<never>(() => {});
        // The process stands still for ever at its n-th call of the
        // journal: before it is done, or after.
        rig.journal.hook = async (_operation, transact) => {
          await rig.clock.sleep(1);
          if (over) return never;
          calls += 1;
          if (calls * 2 === endsAt) over = true;
          if (over) return never;
          const answer = await transact();
          if (calls * 2 + 1 === endsAt) over = true;
          return over ? never : answer;
        };
        rig.entry.scripts.push({ result: answers[which] ?? accepted });
        void rig.commands.submit(rig.submission(placeEquity));
        await rig.clock.advance(1_000);
        over = true;
        rig.lease.lose();
        rig.journal.hook = async (_operation, transact) => transact();
        const next = await CommandRig.leading({}, rig);
        const [command] = rig.journal.commands.values();
        const [sent] = rig.entry.sent;
        if (sent !== undefined && lands && command !== undefined && command.orderId === undefined) {
          const order = rig.landed(command.commandId);
          next.commit(order, { commandId: command.commandId });
        }
        await rig.clock.advance(minute);
        expect(rig.entry.sent.length + next.entry.sent.length).toBeLessThanOrEqual(1);
        if (sent === undefined)
          expect([undefined, 'not_sent', 'unknown']).toContain(command && rig.state(command.commandId));
        else if (lands) expect(rig.state(command?.commandId ?? '')).toBe('applied');
        else expect(['unknown', answers[which]?.kind]).toContain(rig.state(command?.commandId ?? ''));
      }),
      { numRuns: 40 },
    );
  });
});
