/** Of the requests that Kafka knows by number, those of a transaction (KIP-98). */
export const transactionRequests = { produce: 0, initProducerId: 22, addPartitions: 24, endTransaction: 26 } as const;

/** A request as a client sent it: what it asks for, and its bytes without the length. */
interface KafkaRequest {
  readonly apiKey: number;
  readonly bytes: Buffer;
}

/**
 * Cuts what clients send to a broker into requests: a length of four bytes, then as many, of which
 * the first two say what is asked for.
 */
export class KafkaRequests {
  private readonly rests = new Map<number, Buffer>();

  /** The requests that `chunk` completes on that connection. */
  take(chunk: Buffer, connection: number): KafkaRequest[] {
    const found: KafkaRequest[] = [];
    let rest = Buffer.concat([this.rests.get(connection) ?? Buffer.alloc(0), chunk]);
    while (rest.length >= 6 && rest.length >= 4 + rest.readInt32BE(0)) {
      const end = 4 + rest.readInt32BE(0);
      found.push({ apiKey: rest.readInt16BE(4), bytes: rest.subarray(4, end) });
      rest = rest.subarray(end);
    }
    this.rests.set(connection, rest);
    return found;
  }
}
