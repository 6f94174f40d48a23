import { freePort } from '../../src/devstack/free-port.ts';
import { scopes } from '../../src/platform/wire/token-response.ts';
import type { SandboxInput } from '../../src/sandbox/sandbox-options.ts';
import type { RunningSandbox } from '../../src/sandbox/start-sandbox.ts';
import { runningSandbox } from './sandbox.ts';

/** A sandbox whose apps have the callback on a port registered that nobody else has at the moment: tests run side by side. */
export async function linkedSandbox(input: SandboxInput = {}): Promise<{ sandbox: RunningSandbox; port: number }> {
  const port = await freePort();
  const client = { redirectUris: [`http://127.0.0.1:${port}/callback`], scopes: [...scopes] };
  const sandbox = await runningSandbox({
    clients: [
      { ...client, clientId: 'sandbox-desk', clientSecret: 'sandbox-desk-secret', users: ['alice'] },
      { ...client, clientId: 'sandbox-app' },
    ],
    ...input,
  });
  return { sandbox, port };
}
