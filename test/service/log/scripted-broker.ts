import { createRequire } from 'node:module';
import type { Broker } from '../../../src/service/log/kafkajs/lean-produce.ts';

const load = createRequire(import.meta.url);
const { lookup } = load('kafkajs/src/protocol/requests') as {
  lookup(versions: object): Broker['lookupRequest'];
};

interface Encoder {
  readonly buffer: Buffer;
  writeString(text: string): Encoder;
  writeInt16(value: number): Encoder;
  writeInt32(value: number): Encoder;
  writeInt64(value: number): Encoder;
  writeArray(items: readonly Encoder[]): Encoder;
}
const Encoder = load('kafkajs/src/protocol/encoder') as new () => Encoder;

interface Ack {
  readonly topic: string;
  readonly partition: number;
  readonly errorCode?: number;
}

/** A produce answer in version 7: for each acknowledgement, one topic with one partition. */
export function answerOf(acks: readonly Ack[]): Buffer {
  const topics = acks.map(({ topic, partition, errorCode = 0 }) => {
    const one = new Encoder().writeInt32(partition).writeInt16(errorCode).writeInt64(0).writeInt64(0).writeInt64(0);
    return new Encoder().writeString(topic).writeArray([one]);
  });
  return new Encoder().writeArray(topics).writeInt32(0).buffer;
}

type Sent = Parameters<Broker['connectionPool']['send']>[0]['request'];

/** Gives this answer to each request, which kafkajs's own protocol reads. Undefined: none comes. */
export function scriptedBroker(answer: Buffer | undefined): Broker & { readonly sent: Sent[] } {
  const sent: Sent[] = [];
  const send: Broker['connectionPool']['send'] = async ({ request, response }) => {
    sent.push(request);
    await request.encode();
    if (answer === undefined) throw new Error('no answer came');
    return response.parse(await response.decode(answer));
  };
  return { sent, lookupRequest: lookup({ 0: { minVersion: 0, maxVersion: 11 } }), connectionPool: { send } };
}
