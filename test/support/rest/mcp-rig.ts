import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { PreviewBook } from '../../../src/cli/mcp/preview-book.ts';
import { readCaller } from '../../../src/cli/mcp/previews.ts';
import { makeServer, offeredTools } from '../../../src/cli/mcp/serve-mcp.ts';
import { RestClient } from '../../../src/cli/rest/rest-client.ts';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { atEnd } from '../commands/at-end.ts';
import { ScriptedRest } from './scripted-rest.ts';

interface McpOptions {
  readonly url: string;
  readonly token?: string;
  readonly readOnly?: boolean;
  readonly clock?: Clock;
  readonly fetch?: typeof fetch;
}

export interface ToolResult {
  readonly isError: boolean;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what came, as an assistant would
  readonly data: any;
}

/** The tools of one process, with a client of the SDK at the other end of a pipe in memory. */
export class McpRig {
  private readonly client: Client;

  private constructor(client: Client) {
    this.client = client;
  }

  static async start(options: McpOptions): Promise<McpRig> {
    const { url, token, readOnly = false, clock = systemClock } = options;
    const io = { fetch: options.fetch ?? fetch, clock };
    const client = () => new RestClient(io, { url, ...(token !== undefined && { token: new Secret(token) }) });
    const session = { client, clock, random: systemRandom, previews: new PreviewBook({ clock, random: systemRandom }) };
    const server = makeServer(session, offeredTools(await readCaller(client()), { readOnly }), '0.0.0-test');
    const [near, far] = InMemoryTransport.createLinkedPair();
    await server.connect(far);
    return McpRig.over(near);
  }

  /** A client at the near end of any transport. */
  static async over(transport: Parameters<Client['connect']>[0]): Promise<McpRig> {
    const client = new Client({ name: 'a-test', version: '1' });
    await client.connect(transport);
    const rig = new McpRig(client);
    atEnd(() => rig.stop());
    return rig;
  }

  async tools() {
    return (await this.client.listTools()).tools;
  }

  async call(name: string, input: Readonly<Record<string, unknown>> = {}, timeoutMs = 60_000): Promise<ToolResult> {
    const result = await this.client.callTool({ name, arguments: { ...input } }, { timeout: timeoutMs });
    const text = result.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
    const isError = result.isError === true;
    // The SDK's version 1 fails such a call.
    if (isError && result.structuredContent !== undefined) throw new Error('an error has structured content');
    const data = isError ? result._meta?.['tidemark/error'] : result.structuredContent;
    return { isError, text, data: data as ToolResult['data'] };
  }

  stop(): Promise<void> {
    return this.client.close();
  }
}

/** A place that the scripted service takes. */
export const anyPlace = {
  accountId: 'SIM-1001',
  symbol: 'AAPL',
  side: 'BUY',
  type: 'LIMIT',
  qty: '10',
  price: '187.5',
  timeInForce: 'DAY',
};

/** A scripted service, and an assistant that reaches it. */
export async function scriptedRest() {
  const service = await ScriptedRest.start();
  return { service, rig: await McpRig.start({ url: service.url, token: 'secret-token' }) };
}
