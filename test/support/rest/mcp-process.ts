import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { neutralEnv } from '../runs/neutral-env.ts';
import { tidemarkEntry } from '../runs/tidemark-process.ts';
import { McpRig } from './mcp-rig.ts';

/**
 * `tidemark mcp` as a process of its own, as a client of an
 * assistant starts it. It ends with the test.
 */
export class McpProcess {
  readonly rig: McpRig;
  private readonly transport: StdioClientTransport;
  private readonly errors: string[];

  private constructor(rig: McpRig, transport: StdioClientTransport, errors: string[]) {
    this.rig = rig;
    this.transport = transport;
    this.errors = errors;
  }

  static async start(env: Readonly<Record<string, string>>): Promise<McpProcess> {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [tidemarkEntry, 'mcp'],
      env: { ...neutralEnv(), ...env },
      stderr: 'pipe',
    });
    const errors: string[] = [];
    transport.stderr?.on('data', (chunk: Buffer) => errors.push(chunk.toString()));
    return new McpProcess(await McpRig.over(transport), transport, errors);
  }

  /** All that it wrote for people. */
  get err(): string {
    return this.errors.join('');
  }

  /** As `kill -9`: calls that are under way get no answer. */
  kill9(): void {
    if (this.transport.pid !== null) process.kill(this.transport.pid, 'SIGKILL');
  }
}
