import { crc32c } from './crc32c.ts';

/** One record, with the fields that our publishers use and no others. */
export interface PlainRecord {
  readonly key: string;
  readonly value: string;
}

export interface ProducePartition {
  readonly partition: number;
  readonly firstSequence: number;
  readonly records: readonly PlainRecord[];
}

export interface ProduceBody {
  readonly transactionalId: string | null;
  readonly acks: number;
  readonly timeoutMs: number;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  /** Of every record, milliseconds since the epoch. */
  readonly timestampMs: bigint;
  readonly topics: readonly { readonly topic: string; readonly partitions: readonly ProducePartition[] }[];
}

/** From the first offset to the last byte before the CRC, the CRC, and from there to the number of records. */
const batchHeaderBytes = 61;
const crcAt = 17;
const afterCrcAt = 21;
const lengthAt = 8;
const magic = 2;
const transactional = 16;

/**
 * The body of a produce request, versions 3 to 8, with one uncompressed record batch (magic 2) for each partition: `ProduceRequest` and `RecordBatch` of
 * Kafka's protocol guide.
 *
 * One buffer of the right size, written once. kafkajs makes a buffer for every record and for every level above it, grows and copies each, and writes
 * every number by way of an array.
 */
export function encodeProduce(body: ProduceBody): Buffer {
  const buffer = Buffer.allocUnsafe(sizeOf(body));
  let at = writeString(buffer, body.transactionalId, 0);
  at = buffer.writeInt16BE(body.acks, at);
  at = buffer.writeInt32BE(body.timeoutMs, at);
  at = buffer.writeInt32BE(body.topics.length, at);
  for (const { topic, partitions } of body.topics) {
    at = writeString(buffer, topic, at);
    at = buffer.writeInt32BE(partitions.length, at);
    for (const one of partitions) {
      at = buffer.writeInt32BE(one.partition, at);
      const end = writeBatch(buffer, body, one, at + 4);
      buffer.writeInt32BE(end - at - 4, at);
      at = end;
    }
  }
  return buffer.subarray(0, at);
}

function writeBatch(buffer: Buffer, body: ProduceBody, { firstSequence, records }: ProducePartition, start: number): number {
  let at = start + batchHeaderBytes;
  for (let i = 0; i < records.length; i += 1) at = writeRecord(buffer, records[i] as PlainRecord, i, at);
  buffer.writeBigInt64BE(0n, start);
  buffer.writeInt32BE(at - start - lengthAt - 4, start + lengthAt);
  buffer.writeInt32BE(0, start + 12);
  buffer.writeInt8(magic, start + 16);
  let header = buffer.writeInt16BE(body.transactionalId === null ? 0 : transactional, start + afterCrcAt);
  header = buffer.writeInt32BE(records.length - 1, header);
  header = buffer.writeBigInt64BE(body.timestampMs, header);
  header = buffer.writeBigInt64BE(body.timestampMs, header);
  header = buffer.writeBigInt64BE(body.producerId, header);
  header = buffer.writeInt16BE(body.producerEpoch, header);
  header = buffer.writeInt32BE(firstSequence, header);
  buffer.writeInt32BE(records.length, header);
  buffer.writeUInt32BE(crc32c(buffer.subarray(0, at), start + afterCrcAt), start + crcAt);
  return at;
}

/** Attributes, time since the batch's first record and number of headers are all 0. */
function writeRecord(buffer: Buffer, { key, value }: PlainRecord, offset: number, start: number): number {
  const keyBytes = Buffer.byteLength(key);
  const valueBytes = Buffer.byteLength(value);
  const size = 3 + varintBytes(offset) + varintBytes(keyBytes) + keyBytes + varintBytes(valueBytes) + valueBytes;
  let at = writeVarint(buffer, size, start);
  buffer[at] = 0;
  buffer[at + 1] = 0;
  at = writeVarint(buffer, offset, at + 2);
  at = writeVarint(buffer, keyBytes, at);
  at += buffer.write(key, at);
  at = writeVarint(buffer, valueBytes, at);
  at += buffer.write(value, at);
  buffer[at] = 0;
  return at + 1;
}

/** Never too small, and too large by a few bytes a record: every varint counts as the five bytes that it has at most. */
function sizeOf(body: ProduceBody): number {
  let size = 12 + Buffer.byteLength(body.transactionalId ?? '');
  for (const { topic, partitions } of body.topics) {
    size += 6 + Buffer.byteLength(topic);
    for (const { records } of partitions) {
      size += 8 + batchHeaderBytes;
      for (const { key, value } of records) size += 23 + Buffer.byteLength(key) + Buffer.byteLength(value);
    }
  }
  return size;
}

function writeString(buffer: Buffer, text: string | null, at: number): number {
  if (text === null) return buffer.writeInt16BE(-1, at);
  const bytes = buffer.write(text, at + 2);
  return buffer.writeInt16BE(bytes, at) + bytes;
}

/** Zigzag, as all numbers of a record; ours are never below 0, so that is twice the number. At most 30 bits. */
function writeVarint(buffer: Buffer, value: number, start: number): number {
  let at = start;
  let rest = value * 2;
  for (; rest > 0x7f; rest >>>= 7) {
    buffer[at] = (rest & 0x7f) | 0x80;
    at += 1;
  }
  buffer[at] = rest;
  return at + 1;
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value * 2; rest > 0x7f; rest >>>= 7) bytes += 1;
  return bytes;
}
