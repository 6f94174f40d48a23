import { describe, expect, it } from 'vitest';
import { commandResultRecord } from '../../src/contract/command-result.ts';
import { commandStates } from '../../src/domain/command.ts';
import { encodeCommandResult, resultOf } from '../../src/domain/encode-command-result.ts';
import {
  attemptOf,
  cancelOf,
  commandOf,
  placeEquity,
  placePrediction,
  predictionOrder,
  replaceOf,
} from '../support/commands/resolving.ts';

const record = (command: Parameters<typeof encodeCommandResult>[0]) =>
  JSON.parse(encodeCommandResult(command)) as Record<string, unknown>;

describe('the result of a command', () => {
  it('is told as unknown while it is open, and as its state else', () => {
    for (const state of commandStates) expect(resultOf({ state })).toBe(state === 'open' ? 'unknown' : state);
  });

  it('is one record for each step, named by command and version', () => {
    const command = commandOf(placePrediction, { version: 7, callerRef: 'mine' });
    expect(record(command)).toMatchObject({
      eventId: `${command.commandId}:7`,
      schema: 'tidemark.command-result.v1',
      version: 7,
      kind: 'place',
      result: 'unknown',
      callerRef: 'mine',
      terms: { quantity: '10', price: '0.4' },
      attempts: [{ attemptId: 'tm-1', number: 1, state: 'unknown' }],
    });
  });

  it('leaves out who asked and under which key', () => {
    const text = encodeCommandResult(
      commandOf(placePrediction, { principal: 'canary-principal', idempotencyKey: 'canary-key' }),
    );
    expect(text).not.toContain('canary');
  });

  it('writes int64 as text, above 2^53 too', () => {
    const command = commandOf(replaceOf({ price: '0.5' }), {
      seenPendingAt: { revision: 6, sourceVersion: 9007199254740993n },
    });
    expect(record(command)['seenPendingAt']).toEqual({ revision: 6, sourceVersion: '9007199254740993' });
  });

  it('names both orders of a replace that has made a new one, and no other', () => {
    const request = { ...replaceOf({ price: '190' }), stream: 'alpaca_paper', orderId: 'o-1' } as const;
    expect(record(commandOf(request, { orderId: 'o-2' }))).toMatchObject({ orderId: 'o-2', replaces: 'o-1' });
    for (const orderId of ['o-1', undefined])
      expect(record(commandOf(request, orderId === undefined ? {} : { orderId }))).not.toHaveProperty('replaces');
    const inPlace = replaceOf({ price: '0.5' });
    expect(record(commandOf(inPlace, { orderId: inPlace.orderId }))).not.toHaveProperty('replaces');
  });

  it('satisfies the published shape, whole and with nothing unknown, whatever the command', () => {
    const reason = { code: 'ORDER_ENTRY_AT_CAPACITY', message: 'nothing was sent', status: 429 };
    const commands = [
      commandOf(placePrediction, { presumedAbsent: true, misses: 5 }),
      commandOf(placeEquity, {
        state: 'open',
        attempts: [{ ...attemptOf('not_sent'), reason }, attemptOf('prepared', 2)],
      }),
      commandOf(cancelOf(predictionOrder), { state: 'moot', resolvedAtMs: 1_790_000_000_000, reason }),
      commandOf({ ...replaceOf({ quantity: '12' }), stream: 'alpaca' }, { orderId: 'o-2' }),
      commandOf(replaceOf({ quantity: '12' }), { seenPendingAt: { revision: 6 }, supersedes: 'x' }),
      ...commandStates.map((state) => commandOf(placePrediction, { state })),
    ];
    for (const command of commands) expect(commandResultRecord.parse(record(command))).toEqual(record(command));
  });
});
