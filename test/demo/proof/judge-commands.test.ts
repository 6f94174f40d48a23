import { describe, expect, it } from 'vitest';
import type { CommandTruth, LedgerWrite, TrueOrder } from '../../../src/demo/proof/command-truth.ts';
import { type JournaledCommand, judgeCommands } from '../../../src/demo/proof/judge-commands.ts';

const attempt = { attemptId: 'tm-1', state: 'unknown', sendingAtMs: 100 };
const place: JournaledCommand = {
  commandId: 'c1',
  kind: 'place',
  stream: 'account',
  state: 'applied',
  orderId: 'o1',
  quantity: '10',
  attempts: [attempt],
};
const write: LedgerWrite = { kind: 'place', atMs: 101, reference: 'tm-1', decisions: ['accepted'] };
const order: TrueOrder = { state: 'new', closed: false, steps: new Set(['placed', 'accepted']), amendedTo: new Set() };
const truthOf = (writes: readonly LedgerWrite[], over: Partial<TrueOrder> = {}): CommandTruth => ({
  writes,
  orders: new Map([['o1', { ...order, ...over }]]),
});
const neverTaken = (state: string): Partial<TrueOrder> => ({
  state,
  closed: state === 'rejected',
  steps: new Set(['placed', state]),
});
const replace: JournaledCommand = { ...place, kind: 'replace', stream: 'prediction', quantity: '20' };
const replaceWrite: LedgerWrite = {
  kind: 'replace',
  atMs: 101,
  orderId: 'o1',
  quantity: '20',
  decisions: ['accepted'],
};
const cancel: JournaledCommand = { ...place, kind: 'cancel', quantity: null };
const cancelWrite: LedgerWrite = { kind: 'cancel', atMs: 101, orderId: 'o1', decisions: ['accepted'] };

describe('journal and ledger', () => {
  it.each([
    ['an order that the venue has and is applied', place, truthOf([write])],
    ['a write that another clock shows before its row', place, truthOf([{ ...write, atMs: 0 }])],
    [
      'an order that the venue refused and is rejected',
      { ...place, state: 'rejected' },
      truthOf([write], neverTaken('rejected')),
    ],
    [
      'an order that awaits the venue and is accepted',
      { ...place, state: 'accepted' },
      truthOf([write], neverTaken('pending_new')),
    ],
    [
      'a write that was not done and stays unknown',
      { ...place, state: 'unknown' },
      truthOf([{ ...write, decisions: ['not_applied'] }]),
    ],
    [
      'a place that the platform answered as rejected, of which no order was bound',
      { ...place, state: 'rejected', orderId: null },
      truthOf([{ ...write, decisions: ['rejected'] }]),
    ],
    [
      'an amend that took effect',
      { ...replace, state: 'applied' },
      truthOf([replaceWrite], { amendedTo: new Set(['20']) }),
    ],
    ['an amend that the venue refused', { ...replace, state: 'rejected' }, truthOf([replaceWrite])],
    [
      'a cancel of an order that was filled first',
      { ...cancel, state: 'moot' },
      truthOf([cancelWrite], { closed: true, state: 'filled' }),
    ],
    [
      'a cancel that the venue refused before anybody looked',
      { ...cancel, state: 'accepted' },
      truthOf([cancelWrite], { steps: new Set(['cancel_pending', 'cancel_refused']) }),
    ],
  ] as const)('agree on %s', (_what, command, truth) => {
    expect(judgeCommands([command], truth)).toEqual([]);
  });

  it.each([
    ['an acceptance twice', place, truthOf([write, write]), /accepted 2 times/],
    ['one attempt written twice', place, truthOf([write, { ...write, decisions: ['refused'] }]), /was written 2 times/],
    [
      'a write that nobody journaled',
      place,
      truthOf([write, { ...write, reference: 'tm-9' }]),
      /no command explains place tm-9/,
    ],
    [
      'a write before its row',
      place,
      truthOf([{ ...write, atMs: -1 }]),
      /had it 101 ms before its attempt was committed/,
    ],
    [
      'an attempt that was sent unseen',
      { ...place, attempts: [{ ...attempt, sendingAtMs: null }] },
      truthOf([write]),
      /0 attempts that were sent/,
    ],
    [
      'an order that landed and is called not sent',
      { ...place, state: 'not_sent' },
      truthOf([write]),
      /it took effect/,
    ],
    ['an order that landed and stays unknown', { ...place, state: 'unknown' }, truthOf([write]), /it took effect/],
    [
      'an order that the venue refused and is applied',
      place,
      truthOf([write], neverTaken('rejected')),
      /the venue never took it/,
    ],
    [
      'an order that awaits the venue and is applied',
      place,
      truthOf([write], neverTaken('pending_new')),
      /the venue never took it/,
    ],
    ['an order that works and is called rejected', { ...place, state: 'rejected' }, truthOf([write]), /it took effect/],
    ['an order that works and is left accepted', { ...place, state: 'accepted' }, truthOf([write]), /it took effect/],
    [
      'an order that never landed and is applied',
      place,
      truthOf([{ ...write, decisions: ['lapsed'] }]),
      /never took effect/,
    ],
    [
      'an amend that took effect and is called rejected',
      { ...replace, state: 'rejected' },
      truthOf([replaceWrite], { amendedTo: new Set(['20']) }),
      /it took effect/,
    ],
    [
      'an amend that is applied and never worked',
      { ...replace, state: 'applied' },
      truthOf([replaceWrite]),
      /never took effect/,
    ],
    [
      'a cancel that is moot although the order works',
      { ...cancel, state: 'moot' },
      truthOf([cancelWrite]),
      /not over/,
    ],
    [
      'a cancel that waits for ever',
      { ...cancel, state: 'accepted' },
      truthOf([cancelWrite]),
      /neither resolved nor unknown/,
    ],
    ['a command that is left open', { ...place, state: 'open' }, truthOf([write]), /neither resolved nor unknown/],
  ] as const)('disagree on %s', (_what, command, truth, sentence) => {
    expect(judgeCommands([command], truth)).toContainEqual(expect.stringMatching(sentence));
  });

  const second = { ...attempt, attemptId: 'tm-2', sendingAtMs: 200 };
  const { quantity: _quantity, ...priceOnly } = replaceWrite;

  describe('issue: The proof of a run contradicted a replace that made a new order.', () => {
    const made: JournaledCommand = { ...place, kind: 'replace', stream: 'alpaca_paper', orderId: 'o2', quantity: null };
    const lapsed: LedgerWrite = { ...write, kind: 'replace', orderId: 'o1', decisions: ['lapsed'] };
    const taken: LedgerWrite = { ...lapsed, madeId: 'o2', decisions: ['accepted'] };
    const truth = (after: Partial<TrueOrder>, before: string, writes = [taken]): CommandTruth => ({
      writes,
      orders: new Map([
        ['o1', { ...order, state: before, closed: before !== 'new' }],
        ['o2', { ...order, ...after }],
      ]),
    });
    const named: JournaledCommand = { ...made, orderId: 'o1' };

    it.each([
      ['it made its order', made, truth({}, 'replaced')],
      ['its order was refused', { ...made, state: 'rejected' }, truth(neverTaken('rejected'), 'filled')],
      ['another program replaced the order', made, truth({}, 'replaced', [taken, { ...taken, reference: 'ext-1' }])],
      ['the order was filled first', { ...named, state: 'moot' }, truth({}, 'filled', [lapsed])],
    ] as const)('agree where %s', (_what, command, its) => {
      expect(judgeCommands([command], its)).toEqual([]);
    });

    it.each([
      ['its order works and it is moot', { ...named, state: 'moot' }, truth({}, 'replaced'), /it took effect/],
      ['its order works and it is unknown', { ...named, state: 'unknown' }, truth({}, 'replaced'), /it took effect/],
      ['the order that it names works beside its own', made, truth({}, 'new'), /the order that it names is new/],
      ['one attempt made two orders', made, truth({}, 'replaced', [taken, taken]), /was written 2 times/],
    ] as const)('disagree where %s', (_what, command, its, sentence) => {
      expect(judgeCommands([command], its)).toContainEqual(expect.stringMatching(sentence));
    });
  });

  it('agree on a replace of the price alone', () => {
    const command: JournaledCommand = { ...replace, quantity: null, state: 'applied' };
    const steps = new Set(['placed', 'accepted', 'replace_accepted']);
    expect(judgeCommands([command], truthOf([priceOnly], { steps }))).toEqual([]);
    expect(judgeCommands([command], truthOf([priceOnly]))).toContainEqual(expect.stringMatching(/never took effect/));
  });

  it('agree on two cancels of one order, of which the platform took the first, whichever came first', () => {
    const first: JournaledCommand = { ...cancel, state: 'applied' };
    const other: JournaledCommand = { ...cancel, commandId: 'c2', state: 'rejected', attempts: [second] };
    const truth = truthOf([cancelWrite, { ...cancelWrite, atMs: 201, decisions: ['refused'] }], {
      steps: new Set(['placed', 'canceled']),
      closed: true,
    });
    expect(judgeCommands([first, other], truth)).toEqual([]);
    expect(judgeCommands([other, first], truth)).toEqual([]);
  });

  it('disagree on a third write of two cancels that were sent once each', () => {
    const other: JournaledCommand = { ...cancel, commandId: 'c2', attempts: [second] };
    const truth = truthOf([cancelWrite, cancelWrite, { ...cancelWrite, atMs: 201 }]);
    expect(judgeCommands([{ ...cancel, state: 'moot' }, other], truth)).toContainEqual(
      expect.stringMatching(/writes and 1 attempts that were sent/),
    );
  });
});
