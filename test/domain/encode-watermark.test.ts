import { describe, expect, it } from 'vitest';
import { encodeWatermark, watermarkKey } from '../../src/domain/encode-update.ts';

describe('an encoded watermark', () => {
  const mark = {
    kind: 'watermarks',
    markId: '3f0c9a52-4c1e-4a53-9d0e-000000000001',
    stream: 'account',
    accountIds: ['acct-1'],
    event: 'lost',
    atMs: 1795255200123,
  } as const;

  it('carries its instants as ISO 8601', () => {
    expect(
      JSON.parse(encodeWatermark({ ...mark, fromMs: 1795255200000, toMs: 1795255200001, reason: 'idle' })),
    ).toEqual({
      eventId: mark.markId,
      schema: 'tidemark.watermarks.v1',
      stream: 'account',
      accountIds: ['acct-1'],
      event: 'lost',
      at: '2026-11-21T10:00:00.123Z',
      from: '2026-11-21T10:00:00.000Z',
      to: '2026-11-21T10:00:00.001Z',
      reason: 'idle',
    });
  });

  it('leaves out an interval that nobody gave', () => {
    expect(Object.keys(JSON.parse(encodeWatermark(mark)) as object)).toEqual([
      'eventId',
      'schema',
      'stream',
      'accountIds',
      'event',
      'at',
    ]);
  });

  it('has the key of its account; a heartbeat, which is about many, that of its stream', () => {
    expect(watermarkKey(mark)).toBe('acct-1');
    expect(watermarkKey({ ...mark, accountIds: ['acct-1', 'acct-2'], event: 'heartbeat' })).toBe('account');
  });
});
