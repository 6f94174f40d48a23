import type { ServerResponse } from 'node:http';

/** Where the events of one reader go. */
export interface EventSink {
  write(text: string): void;
  /** What was written and has not been taken by the socket. */
  readonly bufferedBytes: number;
  /** Calls `done` once, when the socket has taken what was buffered, or is gone. */
  onRoom(done: () => void): void;
  onGone(done: () => void): void;
  end(): void;
  destroy(): void;
}

/** An HTTP response whose head has been written. */
export class ResponseSink implements EventSink {
  private readonly response: ServerResponse;

  constructor(response: ServerResponse) {
    this.response = response;
  }

  get bufferedBytes(): number {
    return this.response.writableLength;
  }

  write(text: string): void {
    this.response.write(text);
  }

  onRoom(done: () => void): void {
    const once = () => {
      this.response.off('drain', once);
      this.response.off('close', once);
      done();
    };
    if (!this.response.writableNeedDrain || this.response.closed) done();
    else {
      this.response.once('drain', once);
      this.response.once('close', once);
    }
  }

  onGone(done: () => void): void {
    this.response.once('close', done);
  }

  end(): void {
    this.response.end();
  }

  destroy(): void {
    this.response.destroy();
  }
}
