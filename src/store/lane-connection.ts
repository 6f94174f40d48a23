import pg from 'pg';
import type { Log } from '../observability/log.ts';
import { connectionOptions } from './connection-options.ts';

/**
 * The one pipelined connection on which batches are sent: whatever is sent on it is executed in that order, each batch as a transaction of its own.
 *
 * States: none → connecting → open → none (broken, or closed). Invariant: a connection that failed once is never used again.
 *
 * One, not two: two backends would race for the lane's row, and whenever the second batch won it was refused as out of order (the first run of the
 * measurement ended so). There is nothing to win either: the second one can't begin before the first has committed.
 */
export class LaneConnection {
  private current: Promise<pg.Client> | undefined;
  private readonly log: Log;
  private readonly url: string;

  constructor(deps: { readonly log: Log }, options: { readonly url: string }) {
    this.log = deps.log;
    this.url = options.url;
  }

  /** The open connection; connects when there is none. Rejects when that fails: then nothing was sent. */
  open(): Promise<pg.Client> {
    if (this.current !== undefined) return this.current;
    const client = new pg.Client({ ...connectionOptions(this.url, 'tidemark-lane'), pipeline: true });
    const opening = client.connect().then(() => client);
    const forget = () => {
      if (this.current === opening) this.current = undefined;
    };
    client.on('error', (err) => {
      this.log.debug({ err }, "the lane's database connection was lost");
      forget();
    });
    client.on('end', forget);
    opening.catch(forget);
    this.current = opening;
    return opening;
  }

  /** Lets what was sent be answered, then ends it. The next `open` would connect again. */
  async close(): Promise<void> {
    const opening = this.current;
    this.current = undefined;
    const client = await opening?.catch(() => undefined);
    await client?.end();
  }
}
