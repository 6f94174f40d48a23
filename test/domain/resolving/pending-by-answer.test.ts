import { describe, expect, it } from 'vitest';
import { pendingByAnswer } from '../../../src/domain/above-baseline.ts';
import { resolveCommand } from '../../../src/domain/resolve-command.ts';
import {
  baseline,
  cancelOf,
  commandOf,
  equityOrder,
  placePrediction,
  predictionOrder,
  replaceOf,
  updateAt,
} from '../../support/commands/resolving.ts';

const replace = commandOf(replaceOf({ price: '0.5' }), { state: 'accepted' });

describe('an accepted reply', () => {
  it('counts as seen pending at its own version, above 2^53 too', () => {
    expect(pendingByAnswer(replace, { version: '60' })).toEqual({ revision: 5, sourceVersion: 60n });
    expect(pendingByAnswer(commandOf(cancelOf(predictionOrder)), { version: '9007199254740993' })).toEqual({
      revision: 5,
      sourceVersion: 9007199254740993n,
    });
  });

  it.each([{}, { version: 60 }, { version: 'x' }, { version: '-1' }, { version: '50' }, { version: '49' }])(
    'says nothing with %j: no version, or none above the baseline',
    (answer) => {
      expect(pendingByAnswer(replace, answer)).toBeUndefined();
    },
  );

  it('says nothing of places and of account orders, which have no versions', () => {
    expect(pendingByAnswer(commandOf(placePrediction), { version: '60' })).toBeUndefined();
    expect(pendingByAnswer(commandOf(cancelOf(equityOrder)), { version: '60' })).toBeUndefined();
  });

  it('lets a refusal be seen that the stream told before the reply came', () => {
    const seenPendingAt = pendingByAnswer(replace, { version: '60' });
    const resolving = { command: { ...replace, ...(seenPendingAt && { seenPendingAt }) }, updates: [updateAt(7)] };
    expect(resolveCommand(resolving)).toMatchObject({ result: 'rejected' });
    expect(resolveCommand({ command: replace, updates: [updateAt(7)] })).toEqual({ kind: 'nothing' });
  });

  it('is not compared with what has no version', () => {
    const { sourceVersion: _none, ...unversioned } = baseline;
    const command = { ...replace, baseline: unversioned, seenPendingAt: { revision: 5, sourceVersion: 60n } };
    const { sourceVersion: _missing, ...update } = updateAt(6);
    expect(resolveCommand({ command, updates: [update] })).toEqual({ kind: 'nothing' });
  });
});
