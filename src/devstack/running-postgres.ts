/** A Postgres that answers. */
export interface RunningPostgres {
  /** Where it comes from: an address that was given, a container, or a process of our own. */
  readonly kind: 'given' | 'container' | 'embedded';
  /** Connection URL of an existing database; its user owns the database (embedded and container: a superuser). Holds the password. */
  readonly url: string;
  /** One phrase for people, without the password: what it is and where. */
  readonly describe: string;
  /** The postmaster's process id, for signals; embedded only. */
  readonly pid?: number;
  /** Stops it and removes its data (unless `dataDir` was given). Does nothing to a given one. Safe to call again. */
  stop(): Promise<void>;
}

/** A Postgres process of our own: it can be killed, and started again on the same data and port. */
export interface EmbeddedPostgres extends RunningPostgres {
  readonly kind: 'embedded';
  /** Changes with `restart`. */
  readonly pid: number;
  /** Ends what is left of the process and starts a new one on the same data and port. Resolves when it answers. */
  restart(): Promise<void>;
}
