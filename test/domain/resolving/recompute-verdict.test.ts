import { describe, expect, it } from 'vitest';
import type { Command, Evidence } from '../../../src/domain/command.ts';
import { recomputeVerdict } from '../../../src/domain/recompute-verdict.ts';
import { resolveCommand } from '../../../src/domain/resolve-command.ts';
import {
  attemptOf,
  boundTo,
  cancelOf,
  commandOf,
  placePrediction,
  predictionOrder,
  replaceOf,
  sentAtMs,
  updateAt,
} from '../../support/commands/resolving.ts';

const unknown = commandOf(placePrediction);
const person = (result: string): Evidence => ({
  number: 9,
  kind: 'person',
  code: 'resolved',
  detail: { result },
  atMs: sentAtMs,
});

/** The evidence that the finding itself carries, as the journal would keep it. */
function evidenceOf(
  command: Command,
  bound: { orderId: string; matches: boolean },
  over: Parameters<typeof updateAt>[1] = {},
): Evidence[] {
  const finding = resolveCommand({ command, updates: [updateAt(1, over)], bound: [boundTo(command, bound)] });
  return finding.kind === 'verdict' ? [{ ...finding.evidence, number: 1, atMs: sentAtMs }] : [];
}

describe('a verdict computed again', () => {
  it('is applied for a place whose landing is in evidence', () => {
    const evidence = evidenceOf(unknown, { orderId: predictionOrder.orderId, matches: true });
    const applied: Command = { ...unknown, state: 'applied', orderId: predictionOrder.orderId };
    expect(recomputeVerdict(applied, evidence, [])).toEqual({ state: 'applied', because: 'landed', agrees: true });
  });

  it('is what the venue made of the order of a place, by the evidence alone where the log is gone', () => {
    const bound = { orderId: predictionOrder.orderId, matches: true };
    const pending = evidenceOf(unknown, bound, { status: 'pending_new' });
    const refused = evidenceOf(unknown, bound, { status: 'rejected' });
    const accepted: Command = { ...unknown, state: 'accepted', orderId: bound.orderId };
    expect(recomputeVerdict(accepted, pending, [])).toEqual({ state: 'accepted', because: 'landed', agrees: true });
    const both = [
      ...pending,
      ...refused.map((fact) => ({ ...fact, number: 2, detail: { ...fact.detail, revision: 2 } })),
    ];
    expect(recomputeVerdict({ ...accepted, state: 'rejected' }, both, [])).toEqual({
      state: 'rejected',
      because: 'venue_refused',
      agrees: true,
    });
    expect(
      recomputeVerdict({ ...accepted, state: 'rejected' }, both, [updateAt(1, { status: 'pending_new' })]).agrees,
    ).toBe(true);
  });

  it('differs where an applied place has no landing in evidence', () => {
    const applied: Command = { ...unknown, state: 'applied', orderId: predictionOrder.orderId };
    expect(recomputeVerdict(applied, [], [])).toEqual({ state: 'unknown', because: 'answer', agrees: false });
  });

  it('is conflict for a place whose reference somebody else’s order carries', () => {
    const evidence = evidenceOf(unknown, { orderId: 'foreign', matches: false });
    expect(recomputeVerdict({ ...unknown, state: 'conflict' }, evidence, [])).toMatchObject({
      state: 'conflict',
      agrees: true,
    });
  });

  it('follows the updates for a replace, and says when the record does not', () => {
    const replace = commandOf(replaceOf({ price: '0.5' }), { state: 'rejected' });
    const updates = [updateAt(6, { working: { quantity: '10', price: '0.5' } })];
    expect(recomputeVerdict(replace, [], updates)).toEqual({
      state: 'applied',
      because: 'terms_working',
      agrees: false,
    });
    const { state, agrees } = recomputeVerdict({ ...replace, state: 'applied' }, [], updates);
    expect([state, agrees]).toEqual(['applied', true]);
  });

  it('is moot for a replace only if a look for a successor is in evidence', () => {
    const replace = commandOf(replaceOf({ price: '0.5' }), { state: 'moot' });
    const looked = (code: string, detail = {}): Evidence => ({ number: 1, kind: 'read', code, detail, atMs: sentAtMs });
    const updates = [updateAt(6, { status: 'filled' })];
    expect(recomputeVerdict(replace, [looked('no_successor')], updates)).toMatchObject({ state: 'moot', agrees: true });
    expect(recomputeVerdict(replace, [looked('successor_found', { orderId: 'b' })], updates)).toMatchObject({
      state: 'conflict',
    });
    expect(recomputeVerdict(replace, [], updates)).toMatchObject({ state: 'unknown', agrees: false });
  });

  it('is moot for a refused cancel whose order is seen to have ended', () => {
    const cancel = commandOf(cancelOf(predictionOrder), { state: 'moot', attempts: [attemptOf('refused')] });
    expect(recomputeVerdict(cancel, [], [updateAt(6, { status: 'filled' })])).toMatchObject({
      state: 'moot',
      agrees: true,
    });
  });

  it('is a person’s word where nothing was observed to the contrary', () => {
    expect(recomputeVerdict({ ...unknown, state: 'rejected' }, [person('rejected')], [])).toEqual({
      state: 'rejected',
      because: 'person',
      agrees: true,
    });
    const landed = evidenceOf(unknown, { orderId: predictionOrder.orderId, matches: true });
    expect(recomputeVerdict({ ...unknown, state: 'applied' }, [...landed, person('rejected')], [])).toMatchObject({
      state: 'applied',
      because: 'landed',
    });
    const pending = evidenceOf(unknown, { orderId: predictionOrder.orderId, matches: true }, { status: 'pending_new' });
    expect(recomputeVerdict({ ...unknown, state: 'moot' }, [...pending, person('moot')], [])).toMatchObject({
      because: 'person',
    });
    expect(recomputeVerdict({ ...unknown, state: 'accepted' }, [person('moot'), ...pending], [])).toMatchObject({
      state: 'accepted',
      agrees: true,
    });
    expect(recomputeVerdict(unknown, [person('nonsense')], [])).toMatchObject({ state: 'unknown', agrees: true });
  });

  it.each([
    ['prepared', 'open'],
    ['sending', 'open'],
    ['not_sent', 'not_sent'],
    ['refused', 'refused'],
    ['rejected', 'rejected'],
    ['accepted', 'accepted'],
    ['unknown', 'unknown'],
  ] as const)('rests on the answer where nothing else is known: %s is %s', (attempt, state) => {
    const command = commandOf(placePrediction, { state, attempts: [attemptOf(attempt)] });
    expect(recomputeVerdict(command, [], [])).toEqual({ state, because: 'answer', agrees: true });
  });

  it('is refused for what we refused ourselves', () => {
    const command = commandOf(placePrediction, { state: 'refused', attempts: [] });
    expect(recomputeVerdict(command, [], [])).toEqual({ state: 'refused', because: 'refused_here', agrees: true });
  });
});
