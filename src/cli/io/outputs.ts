import { once } from 'node:events';
import type { Writable } from 'node:stream';
import type { TextOutput } from './io.ts';

/** `fs.writeSync` of one file: how many bytes were written. Throws if none could be. */
type WriteBytes = (bytes: Uint8Array) => number;

/**
 * stdout where it is a file. Node's own stream leaves out the rest of a text without a word if the
 * disk gets full within it, and ends for good at its first error.
 *
 * `onFault` hears of a text that can't be written, and of the next ones only after one was. If it
 * returns, the text is left out and the next one is tried again: a full disk must not end a service
 * that only logs.
 */
export class FileOutput implements TextOutput {
  private isBroken = false;
  /** The file ends within a text. */
  private isCut = false;
  private readonly writeBytes: WriteBytes;
  private readonly onFault: (error: unknown) => void;

  constructor(writeBytes: WriteBytes, onFault: (error: unknown) => void) {
    this.writeBytes = writeBytes;
    this.onFault = onFault;
  }

  write(text: string): boolean {
    let rest: Uint8Array = Buffer.from(this.isCut ? `\n${text}` : text);
    const whole = rest.length;
    try {
      while (rest.length > 0) rest = rest.subarray(this.writeBytes(rest));
      this.isBroken = false;
      this.isCut = false;
    } catch (error) {
      this.isCut ||= rest.length < whole;
      if (!this.isBroken) this.onFault(error);
      this.isBroken = true;
    }
    return true;
  }
}

/** Of a service's log, what a reader that has stalled may leave in memory. */
const mostWaitingBytes = 8 * 1024 * 1024;

/**
 * stdout where it is a pipe, a socket or a terminal. Node keeps without a bound what the reader has
 * not taken, so a command waits for it by `drained`.
 *
 * A service does not wait. With `onStalled`, texts are left out while 8 MiB wait. It is called
 * for the first of them, and with their count before the next text that has room.
 */
export class PipeOutput implements TextOutput {
  private leftOut = 0;
  private readonly stream: Writable;
  private readonly onStalled: ((leftOut: number | undefined) => void) | undefined;

  constructor(stream: Writable, onStalled?: (leftOut: number | undefined) => void) {
    this.stream = stream;
    this.onStalled = onStalled;
  }

  write(text: string): boolean {
    if (this.onStalled !== undefined && this.stream.writableLength > mostWaitingBytes) {
      if (this.leftOut === 0) this.onStalled(undefined);
      this.leftOut += 1;
      return false;
    }
    if (this.leftOut > 0) this.onStalled?.(this.leftOut);
    this.leftOut = 0;
    return this.stream.write(text);
  }

  /** Also ends if the reader goes away, or the signal aborts. */
  async drained(signal?: AbortSignal): Promise<void> {
    if (this.stream.writableNeedDrain) await once(this.stream, 'drain', { signal }).catch(() => undefined);
  }
}
