import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import WebSocket from 'ws';
import type { AlpacaDescription } from '../../../src/sandbox/alpaca/describe-alpaca.ts';
import { eventually } from '../../support/runs/poll.ts';

/** A stranger's client of `trade_updates`. Closed with the test. */
export class AlpacaStreamClient {
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what came
  readonly messages: any[] = [];
  /** The same, as they came. */
  readonly texts: string[] = [];
  readonly unreadable: Buffer[] = [];
  textFrames = 0;
  closed = false;
  readonly socket: WebSocket;

  static async open(url: string): Promise<AlpacaStreamClient> {
    const client = new AlpacaStreamClient(url);
    onTestFinished(() => client.socket.terminate());
    await once(client.socket, 'open');
    return client;
  }

  /** Authenticated with an account's keys, and listening. */
  static async listening(at: AlpacaDescription, account = 0): Promise<AlpacaStreamClient> {
    const client = await AlpacaStreamClient.open(at.stream);
    const { keyId, secretKey } = at.accounts[account] ?? {};
    await client.ask({ action: 'authenticate', data: { key_id: keyId, secret_key: secretKey } });
    await client.ask({ action: 'listen', data: { streams: ['trade_updates'] } });
    return client;
  }

  private constructor(url: string) {
    this.socket = new WebSocket(url, { perMessageDeflate: false });
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.closed = true;
    });
    this.socket.on('message', (data: Buffer, isBinary) => {
      if (!isBinary) this.textFrames += 1;
      try {
        this.messages.push(JSON.parse(String(data)));
        this.texts.push(String(data));
      } catch {
        this.unreadable.push(data);
      }
    });
  }

  /** Sends it, and gives the next message. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what came
  async ask(message: object): Promise<any> {
    const count = this.messages.length;
    this.socket.send(JSON.stringify(message));
    await eventually(() => {
      if (this.messages.length === count) throw new Error('no answer yet');
    });
    return this.messages[count];
  }

  // biome-ignore lint/suspicious/noExplicitAny: a test reads what came
  get updates(): any[] {
    return this.messages.filter(({ stream }) => stream === 'trade_updates').map(({ data }) => data);
  }

  /** The events of one order, in the order of their arrival. */
  eventsOf(orderId: string): string[] {
    return this.updates.filter(({ order }) => order?.id === orderId).map(({ event }) => event);
  }
}
