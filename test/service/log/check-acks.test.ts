import { describe, expect, it } from 'vitest';
import { checkAcks } from '../../../src/service/log/kafkajs/partitioner.ts';

const sentTo = new Map([['updates', new Set([0, 3])]]);
const ack = (partition: number, errorCode = 0) => ({ topicName: 'updates', partition, errorCode });

describe('the acknowledgements of a send', () => {
  it('are enough when every partition that was sent to answered without error', () => {
    expect(() => checkAcks(sentTo, [ack(3), ack(0)])).not.toThrow();
  });

  it.each([
    ['a partition is missing', [ack(0)]],
    ['a partition answered an error', [ack(0), ack(3, 6)]],
    ['nothing was answered', []],
    ['another topic answered', [ack(0), { topicName: 'state', partition: 3, errorCode: 0 }]],
  ])('are refused when %s', (_, answer) => {
    expect(() => checkAcks(sentTo, answer)).toThrow(expect.objectContaining({ code: 'missing_ack' }));
  });

  it('are refused when nothing was sent at all', () => {
    expect(() => checkAcks(new Map(), [])).toThrow(expect.objectContaining({ code: 'missing_ack' }));
  });
});
