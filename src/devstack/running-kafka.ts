export interface RunningKafkaNode {
  readonly id: number;
  readonly port: number;
  /** For signals (kill -9, SIGSTOP); changes with `restartNode`. */
  readonly pid: number;
}

/** A Kafka that answers. */
export interface RunningKafka {
  /** Where it comes from: addresses that were given, a container, or processes of our own. */
  readonly kind: 'given' | 'container' | 'embedded';
  /** Bootstrap addresses, as `127.0.0.1:9092`. */
  readonly brokers: string[];
  /** One phrase for people: what it is and where. */
  readonly describe: string;
  /** The processes of our own, so none unless embedded. */
  readonly nodes: readonly RunningKafkaNode[];
  /** Ends what is left of an embedded node and starts it again on the same data and port; resolves when it answers. */
  restartNode(id: number): Promise<void>;
  /** Stops it and removes its data. Does nothing to a given one. Safe to call again. */
  stop(): Promise<void>;
}
