import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Command, CommandRequest } from '../../../src/domain/command.ts';
import type { Answer } from '../../../src/service/commands/answer.ts';
import type { CancelAll, Journaled } from '../../../src/service/commands/commands.ts';
import {
  accepted,
  CommandRig,
  cancelWorking,
  placeEquity,
  replaceWorking,
  unknown,
  word,
  workingOrder,
} from '../../support/commands/command-rig.ts';

const minute = 60_000;
const account = { kind: 'account', accountId: 'acct-1' } as const;

const act = fc.record({
  what: fc.constantFrom(...Array(6).fill('place'), 'replace', 'cancel', 'halt', 'cancel all', 'take over', 'drain'),
  atMs: fc.nat(600),
  key: fc.nat(5),
  qty: fc.integer({ min: 1, max: 3 }),
  /** Asked of the process that does not hold the account, if so. */
  elsewhere: fc.nat(9).map((roll) => roll === 0),
});
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never;

interface Call {
  readonly key: string;
  readonly request: CommandRequest;
  /** The number of the act. */
  readonly number: number;
  result: Answer<Journaled> | undefined;
}

/** Two processes, one after the other the holder, on a journal that loses answers. */
class TwoHolders {
  readonly breaches: string[] = [];
  readonly calls: Call[] = [];
  private readonly writes = new Map<string, number>();
  private halted = false;
  private coveredBefore = 0;
  private holder: CommandRig;
  private readonly rigs: readonly [CommandRig, CommandRig];
  private readonly dice: Iterator<number>;

  constructor(rigs: readonly [CommandRig, CommandRig], dice: Iterator<number>) {
    this.rigs = rigs;
    this.dice = dice;
    this.holder = rigs[0];
    for (const rig of rigs) {
      rig.entry.route = () => ({
        connect: { ms: [1, 2, 20, 100, 190, 199, 200, 201, 350][this.roll() % 9] ?? 1 },
        answerMs: this.roll() % 60,
        result: this.roll() % 2 === 0 ? accepted : unknown,
      });
      rig.entry.onWrite = ({ attemptId }) => this.wrote(rig, attemptId);
    }
    this.disturb();
  }

  get holderIsFirst(): boolean {
    return this.holder === this.rigs[0];
  }

  private roll(): number {
    return this.dice.next().value ?? 0;
  }

  /** Calls take their time, and answers are lost before, after, or long before the commit. */
  private disturb(): void {
    const [{ clock, journal }] = this.rigs;
    journal.hook = async (operation, transact) => {
      const roll = this.roll();
      await clock.sleep(roll % 40);
      if (roll % 13 === 1) throw new Error('lost before it was done');
      if (operation === 'open' && roll % 7 === 1) {
        clock.after(roll % 3_000, () => void transact());
        throw new Error('lost, and done later');
      }
      const answer = await transact();
      await clock.sleep(roll % 5 === 2 ? roll % 150 : roll % 7);
      if (roll % 11 === 1) throw new Error('lost after it was done');
      return answer;
    };
  }

  heal(): void {
    this.rigs[0].journal.hook = async (_operation, transact) => transact();
  }

  private wrote(rig: CommandRig, attemptId: string): void {
    const { journal } = rig;
    const command = journal.ofAttempt(attemptId);
    const state = command?.attempts.find((each) => each.attemptId === attemptId)?.state;
    const say = (what: string) => this.breaches.push(`${command?.request.kind} ${attemptId} ${what}`);
    if (command === undefined) say('is written, and is not in the journal');
    else this.writes.set(command.commandId, this.writesOf(command) + 1);
    if (state !== 'sending') say(`is written as ${state}`);
    if (journal.epoch(0) !== rig.epoch) say('is written by a former holder');
    if (command === undefined || command.request.kind === 'cancel') return;
    if (this.halted) say('is written behind the answer to a halt');
    const asked = this.calls.filter(({ key }) => key === command.idempotencyKey);
    if (command.request.kind === 'place' && asked.every(({ number }) => number < this.coveredBefore))
      say('is written behind a cancel-all that came later, and said that nothing is open');
  }

  private writesOf({ commandId }: Command): number {
    return this.writes.get(commandId) ?? 0;
  }

  async do({ what, key, qty, elsewhere }: Act, number: number): Promise<void> {
    const { holder } = this;
    if (what === 'halt') {
      const result = await holder.commands.operator.halt(account, word);
      if (result.kind === 'done' && holder === this.holder) this.halted = true;
    } else if (what === 'cancel all') {
      const asked = { ...word, idempotencyKey: `all-${number}` };
      this.canceledAll(await holder.commands.cancelAll(account, asked), number);
    } else if (what === 'take over') await this.takeOver(key % 2 === 0);
    else if (what === 'drain') {
      const patience = new AbortController();
      holder.clock.after(qty * 100, () => patience.abort());
      await holder.commands.drain(patience.signal);
    } else {
      const place = { ...placeEquity, terms: { ...placeEquity.terms, qty: `${qty}` } };
      const request = what === 'place' ? place : what === 'replace' ? replaceWorking : cancelWorking;
      const call: Call = { key: `${what}-${key}`, request, number, result: undefined };
      this.calls.push(call);
      const rig = elsewhere ? this.rigs[this.holderIsFirst ? 1 : 0] : holder;
      call.result = await rig.commands.submit(rig.submission(request, { idempotencyKey: call.key }));
    }
  }

  private canceledAll(result: Answer<CancelAll>, number: number): void {
    if (result.kind === 'done' && !result.open) this.coveredBefore = Math.max(this.coveredBefore, number);
  }

  async takeOver(isTold: boolean): Promise<void> {
    if (!this.holderIsFirst) return;
    const [former, next] = this.rigs;
    this.holder = next;
    former.lease.lose();
    if (isTold) former.commands.endAll();
    const begin = () => next.commands.begin({ shard: 0, epoch: 2n });
    next.epoch = 2n;
    next.lease.confirm(2n, next.clock.monotonicMs());
    while (
      !(await begin().then(
        () => true,
        () => false,
      ))
    )
      await next.clock.sleep(10);
  }

  /** Behind the end of everything: what callers were told, and what the journal says. */
  judge(): void {
    for (const command of this.rigs[0].journal.commands.values()) {
      const { commandId, state, request } = command;
      const written = this.writesOf(command);
      if (written > 1) this.breaches.push(`${request.kind} ${commandId} was written ${written} times`);
      if (state === 'open') this.breaches.push(`${request.kind} ${commandId} is open for ever`);
      if (state === 'not_sent' && written > 0) this.breaches.push(`${commandId} was written, and is not_sent`);
      const calls = this.calls.filter(({ key }) => key === command.idempotencyKey);
      // None is the cancel of a cancel-all.
      if (written > 0 && calls.length > 0 && calls.every(({ result }) => result?.kind === 'declined'))
        this.breaches.push(`${commandId} was written, and each call was declined`);
      for (const { result } of calls) {
        if (result?.kind !== 'journaled' || result.command.commandId !== commandId) continue;
        if (result.command.state === 'not_sent' && state !== 'not_sent')
          this.breaches.push(`${commandId} was told to be not_sent, and is ${state}`);
        if (result.command.state === 'accepted' && written !== 1)
          this.breaches.push(`${commandId} was told to be accepted, and was written ${written} times`);
      }
    }
    for (const { key, result } of this.calls) if (result === undefined) this.breaches.push(`${key} had no answer`);
  }
}

/** `seen`: what happened in all runs. */
const isWrittenOnce = (seen: { written: number; taken: number }) =>
  fc.asyncProperty(
    fc.array(act, { minLength: 5, maxLength: 16, size: 'max' }),
    fc.noShrink(fc.infiniteStream(fc.nat(10_000))),
    async (acts, dice) => {
      const rig = await CommandRig.leading();
      const next = new CommandRig({}, rig);
      rig.commit(workingOrder);
      const world = new TwoHolders([rig, next], dice);
      const ordered = [...acts].sort((a, b) => a.atMs - b.atMs);
      const all = ordered.map(async (each, number) => {
        await rig.clock.sleep(each.atMs);
        await world.do(each, number + 1).catch(() => undefined);
      });
      await rig.clock.advance(5_000);
      world.heal();
      if (world.holderIsFirst) await rig.during(world.takeOver(false));
      await rig.during(Promise.all(all));
      await rig.clock.advance(2 * minute);
      world.judge();
      expect(world.breaches).toEqual([]);
      seen.written += rig.entry.sent.length + next.entry.sent.length;
      seen.taken += next.entry.sent.length;
    },
  );

describe('whatever happens while a command is connected, opened and written', () => {
  it('it is written at most once, never behind a halt, and each caller is told the truth', async () => {
    const seen = { written: 0, taken: 0 };
    await fc.assert(isWrittenOnce(seen), { numRuns: 25, endOnFailure: true });
    expect(seen.written).toBeGreaterThan(10);
    expect(seen.taken).toBeGreaterThan(0);
  });

  it('also where the process drains before an opening without an answer commits', async () => {
    await fc.assert(isWrittenOnce({ written: 0, taken: 0 }), { seed: 1605954869, path: '0', numRuns: 1 });
  });
});
