import kafkajs from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { DeadlineError } from '../../../src/runtime/waiting.ts';
import { toPublishError } from '../../../src/service/log/publish-sends.ts';
import { PublishError } from '../../../src/service/log/publisher.ts';

const { KafkaJSConnectionError, KafkaJSError, KafkaJSNumberOfRetriesExceeded, KafkaJSProtocolError } = kafkajs;

const protocol = (type: string, message = type) => {
  const error = new KafkaJSProtocolError(new Error(message));
  return Object.assign(error, { type });
};

describe('what went wrong in a send', () => {
  it.each([
    ['too_large', protocol('MESSAGE_TOO_LARGE')],
    ['not_leader', protocol('NOT_LEADER_FOR_PARTITION')],
    [
      'not_leader',
      new KafkaJSNumberOfRetriesExceeded(protocol('NOT_LEADER_FOR_PARTITION'), { retryCount: 0, retryTime: 1 }),
    ],
    ['unknown_topic', protocol('UNKNOWN_TOPIC_OR_PARTITION')],
    ['fenced', protocol('INVALID_PRODUCER_EPOCH')],
    ['fenced', protocol('KAFKAJS_UNKNOWN_ERROR_CODE', 'Unknown error code 90')],
    ['broker', protocol('KAFKAJS_UNKNOWN_ERROR_CODE', 'Unknown error code 190')],
    ['timeout', new DeadlineError('a send', 5)],
    ['connection', new KafkaJSConnectionError('refused')],
    ['other', new KafkaJSError('no idea')],
    ['other', 'not even an error'],
  ])('is %s', (code, err) => {
    expect(toPublishError(err)).toMatchObject({ name: 'PublishError', code, retryable: true });
  });

  it('stays what it is when it is known already', () => {
    const known = new PublishError('missing_ack', 'gone');
    expect(toPublishError(known)).toBe(known);
  });
});
