import { createRequire } from 'node:module';
import type { Kafka } from 'kafkajs';
import { hiddenCluster } from './hidden-cluster.ts';

/**
 * By topic: its id as Kafka's own tools print it; null: there is no such topic. A topic without an
 * id is left out.
 */
export type FoundTopicIds = ReadonlyMap<string, string | null>;

/** The parts of kafkajs 2.2.4 that are used here. */
interface Encoder {
  writeBoolean(value: boolean): Encoder;
  writeUVarInt(value: number): Encoder;
  writeUVarIntString(value: string): Encoder;
  writeBuffer(value: Buffer): Encoder;
}
interface Decoder {
  readInt16(): number;
  readInt32(): number;
  readBoolean(): boolean;
  readBytes(length: number): Buffer;
  readUVarIntString(): string | null;
  readUVarIntArray<T>(read: (decoder: Decoder) => T): T[] | null;
  readTaggedFields(): unknown;
}
interface Broker {
  readonly versions: Readonly<Record<number, { readonly maxVersion: number } | undefined>>;
  readonly connectionPool: { send(protocol: unknown): Promise<FoundTopicIds> };
}
interface Cluster {
  readonly brokerPool: { findConnectedBroker(): Promise<Broker> };
  connect(): Promise<void>;
  disconnect(): Promise<void>;
}

const load = createRequire(import.meta.url);
const metadataKey = 3;
/** The first version with topic ids: Kafka 2.8. kafkajs ends at 6. */
const firstWithIds = 10;
const noId = Buffer.alloc(16);
const unknownTopic = 3;

/**
 * Reads the topics' ids (`Metadata` version 10; Kafka's protocol, KIP-516), since kafkajs can't. A
 * topic that is deleted and made again has another id. Makes a connection of its own with all of
 * the client's settings, and never makes a topic. Empty: the broker is older than 2.8, or gives
 * none. Rejects when it does not answer.
 */
export async function readTopicIds(kafka: Kafka, topics: readonly string[]): Promise<FoundTopicIds> {
  const cluster = hiddenCluster<Cluster>(kafka, { metadataMaxAge: 300_000, allowAutoTopicCreation: false });
  try {
    await cluster.connect();
    const broker = await cluster.brokerPool.findConnectedBroker();
    if ((broker.versions[metadataKey]?.maxVersion ?? 0) < firstWithIds) return new Map();
    const request = {
      apiKey: metadataKey,
      apiVersion: firstWithIds,
      apiName: 'Metadata',
      encode: async () => encodeRequest(topics),
    };
    const response = {
      decode: async (bytes: Buffer) => decodeAnswer(bytes),
      parse: async (found: FoundTopicIds) => found,
    };
    return await broker.connectionPool.send({ request, response });
  } finally {
    await cluster.disconnect();
  }
}

/**
 * The header of a flexible request ends with tagged fields. kafkajs does not write them, so they
 * are the first byte here.
 */
function encodeRequest(topics: readonly string[]): Encoder {
  const Made = load('kafkajs/src/protocol/encoder') as new () => Encoder;
  const encoder = new Made().writeUVarInt(0).writeUVarInt(topics.length + 1);
  for (const topic of topics) encoder.writeBuffer(noId).writeUVarIntString(topic).writeUVarInt(0);
  // No topic is made, and no rights are asked for.
  return encoder.writeBoolean(false).writeBoolean(false).writeBoolean(false).writeUVarInt(0);
}

function decodeAnswer(bytes: Buffer): FoundTopicIds {
  const Made = load('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => Decoder;
  const decoder = new Made(bytes);
  decoder.readTaggedFields();
  decoder.readInt32();
  decoder.readUVarIntArray((d) => [
    d.readInt32(),
    d.readUVarIntString(),
    d.readInt32(),
    d.readUVarIntString(),
    d.readTaggedFields(),
  ]);
  decoder.readUVarIntString();
  decoder.readInt32();
  const found = new Map<string, string | null>();
  for (const { error, name, id } of decoder.readUVarIntArray(readTopic) ?? []) {
    if (name === null) continue;
    if (error === unknownTopic) found.set(name, null);
    else if (!id.equals(noId)) found.set(name, id.toString('base64url'));
  }
  return found;
}

function readTopic(d: Decoder): { readonly error: number; readonly name: string | null; readonly id: Buffer } {
  const topic = { error: d.readInt16(), name: d.readUVarIntString(), id: Buffer.from(d.readBytes(16)) };
  const ints = () => d.readUVarIntArray((each) => each.readInt32());
  d.readBoolean();
  d.readUVarIntArray(() => [
    d.readInt16(),
    d.readInt32(),
    d.readInt32(),
    d.readInt32(),
    ints(),
    ints(),
    ints(),
    d.readTaggedFields(),
  ]);
  d.readInt32();
  d.readTaggedFields();
  return topic;
}
