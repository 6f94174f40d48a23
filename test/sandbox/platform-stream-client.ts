import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import WebSocket from 'ws';
import { eventually } from '../support/runs/poll.ts';

/**
 * One message of the stream, parsed as any client would (versions
 * above 2^53 lose digits: look at `text`).
 */
interface StreamMessage {
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what came
  readonly json: any;
}

/** A stranger's client of the order stream. Closed with the test. */
export class PlatformStreamClient {
  readonly messages: StreamMessage[] = [];
  readonly unreadable: Buffer[] = [];
  readonly errors: Error[] = [];
  pings = 0;
  closed: { code: number; reason: string } | undefined;
  readonly socket: WebSocket;
  private asked = 0;

  /** Resolves once the upgrade was accepted. */
  static async open(url: string, headers: Record<string, string>): Promise<PlatformStreamClient> {
    const client = new PlatformStreamClient(url, headers);
    onTestFinished(() => client.socket.terminate());
    await once(client.socket, 'open');
    return client;
  }

  private constructor(url: string, headers: Record<string, string>) {
    this.socket = new WebSocket(url, { headers, perMessageDeflate: false });
    this.socket.on('message', (data: Buffer, isBinary) => this.take(data, isBinary));
    this.socket.on('ping', () => {
      this.pings += 1;
    });
    this.socket.on('error', (error) => this.errors.push(error));
    this.socket.on('close', (code, reason) => {
      this.closed = { code, reason: String(reason) };
    });
  }

  private take(data: Buffer, isBinary: boolean): void {
    try {
      if (isBinary) throw new Error('binary');
      this.messages.push({ text: String(data), json: JSON.parse(String(data)) });
    } catch {
      this.unreadable.push(data);
    }
  }

  /** Sends a subscription and resolves with its answer. */
  async ask(type: 'subscribe' | 'unsubscribe', topic: string, target: string): Promise<StreamMessage> {
    this.asked += 1;
    const id = `ask-${this.asked}`;
    this.socket.send(JSON.stringify({ type, id, payload: { topic, target } }));
    return this.message((message) => message.json.id === id);
  }

  /** The first message that fits, now or later. */
  message(fits: (message: StreamMessage) => boolean): Promise<StreamMessage> {
    return eventually(() => {
      const found = this.messages.find(fits);
      if (found === undefined) throw new Error(`no such message among ${this.messages.length}`);
      return found;
    });
  }

  /** `payload.data` of the events so far. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what came
  events(): any[] {
    return this.messages.filter(({ json }) => json.type === 'event').map(({ json }) => json.payload.data);
  }

  ended(): Promise<{ code: number; reason: string }> {
    return eventually(() => {
      if (this.closed === undefined) throw new Error('still open');
      return this.closed;
    });
  }
}
