import { describe, expect, it } from 'vitest';
import { isMiss, isPresumedAbsent, lastPossibleSendMs } from '../../../src/domain/presumed-absent.ts';
import {
  attemptOf,
  cancelOf,
  commandOf,
  placePrediction,
  predictionOrder,
  sentAtMs,
} from '../../support/commands/resolving.ts';

const minute = 60_000;
/** Answered `unknown` two seconds after it was sent. */
const missed = commandOf(placePrediction, { misses: 5 });
const lastSendMs = sentAtMs + 2_000;
const read = { startedAtMs: lastSendMs + 10 * minute, certain: true };
const nowMs = lastSendMs + 10 * minute;

describe('the last possible send', () => {
  it('is the answer, the timeout or the takeover that ended the attempt', () => {
    expect(lastPossibleSendMs(missed)).toBe(lastSendMs);
  });

  it('is the end of the time in which a write may begin, where nothing is known of its end', () => {
    const { answeredAtMs: _none, ...unanswered } = attemptOf('unknown');
    expect(lastPossibleSendMs({ state: 'unknown', attempts: [unanswered] })).toBe(sentAtMs + 1_000);
  });

  it('is not over while the command is open', () => {
    expect(lastPossibleSendMs({ state: 'open', attempts: [attemptOf('sending')] })).toBeUndefined();
  });

  it('is the latest of several, leaving out those of which nothing was sent', () => {
    const later = { ...attemptOf('unknown', 2), sendingAtMs: sentAtMs + 5_000, answeredAtMs: sentAtMs + 7_000 };
    const attempts = [{ ...attemptOf('not_sent'), answeredAtMs: sentAtMs + 60_000 }, later];
    expect(lastPossibleSendMs({ state: 'unknown', attempts })).toBe(sentAtMs + 7_000);
    const both = [attemptOf('unknown'), later];
    for (const several of [both, both.toReversed()])
      expect(lastPossibleSendMs({ state: 'unknown', attempts: several })).toBe(sentAtMs + 7_000);
    expect(lastPossibleSendMs({ state: 'not_sent', attempts: [attemptOf('not_sent')] })).toBeUndefined();
  });
});

describe('a read that did not show a place', () => {
  it('is a miss only when it began after the last possible send', () => {
    expect(isMiss(missed, { startedAtMs: lastSendMs + 1, certain: true })).toBe(true);
    expect(isMiss(missed, { startedAtMs: lastSendMs, certain: true })).toBe(false);
    expect(isMiss(missed, { startedAtMs: sentAtMs - 1, certain: true })).toBe(false);
  });

  it('is no miss while the account is uncertain', () => {
    expect(isMiss(missed, { startedAtMs: nowMs, certain: false })).toBe(false);
  });

  it('is no miss of a command that is not unknown', () => {
    for (const state of ['open', 'accepted', 'applied', 'not_sent', 'conflict'] as const)
      expect(isMiss(commandOf(placePrediction, { state }), read)).toBe(false);
  });
});

describe('an unknown place', () => {
  it('is presumed absent after 10 minutes, 5 complete misses and a complete read that began after the last possible send', () => {
    expect(isPresumedAbsent(missed, read, nowMs)).toBe(true);
  });

  it('is not presumed absent a moment earlier', () => {
    expect(isPresumedAbsent(missed, read, nowMs - 1)).toBe(false);
  });

  it('is not presumed absent by four misses, however long ago', () => {
    expect(isPresumedAbsent({ ...missed, misses: 4 }, read, nowMs + 24 * 60 * minute)).toBe(false);
  });

  it('is not presumed absent by time and misses alone, without a complete read that counts', () => {
    expect(isPresumedAbsent(missed, undefined, nowMs)).toBe(false);
    expect(isPresumedAbsent(missed, { ...read, startedAtMs: sentAtMs }, nowMs)).toBe(false);
    expect(isPresumedAbsent(missed, { ...read, certain: false }, nowMs)).toBe(false);
  });

  it('is never presumed absent once an order is bound to it', () => {
    expect(isPresumedAbsent({ ...missed, orderId: 'one' }, read, nowMs)).toBe(false);
  });
});

describe('any other command', () => {
  it('is never presumed absent', () => {
    const { orderId: _named, ...cancel } = commandOf(cancelOf(predictionOrder), { misses: 9 });
    expect(isPresumedAbsent(cancel, read, nowMs)).toBe(false);
    for (const state of ['open', 'accepted', 'conflict', 'refused'] as const)
      expect(isPresumedAbsent({ ...missed, state }, read, nowMs)).toBe(false);
  });
});
