import { runProgram } from '../../../src/cli/program.ts';
import { freePort } from '../../../src/demo/devstack/free-port.ts';
import type { SandboxInput } from '../../../src/sandbox/sandbox-options.ts';
import type { RunningSandbox } from '../../../src/sandbox/start-sandbox.ts';
import { scopes } from '../../../src/venue/platform/wire/oauth.ts';
import { cliIo } from '../rest/cli-io.ts';
import { eventually } from '../runs/poll.ts';
import { ask, runningSandbox } from './sandbox.ts';
import { signInByForms } from './sign-in.ts';

/**
 * Something that signs in by itself: `tidemark link` in this process, with the forms filled in as a
 * browser without script does.
 */
export async function linkAs(
  user: { username: string; password: string },
  env: Record<string, string>,
  port: number,
  name = 'default',
  mfaCode?: string,
): Promise<string> {
  const io = cliIo(env);
  const run = runProgram(io, ['link', '--no-open', '--redirect-port', String(port), '--name', name]);
  const address = await eventually(() => {
    const found = /http:\S+\/oauth2\/authorize\?\S+/.exec(io.err())?.[0];
    if (found === undefined) throw new Error(io.err());
    return found;
  });
  await ask(await signInByForms(address, user, mfaCode === undefined ? {} : { mfaCode }));
  await run;
  if (io.code() !== 0) throw new Error(io.err());
  return io.out();
}

/**
 * A sandbox whose apps have the callback on a port registered that nobody else
 * has at the moment: tests run side by side.
 */
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
