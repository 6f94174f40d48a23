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
