import { describe, expect, it } from 'vitest';
import { McpRig } from '../../support/rest/mcp-rig.ts';
import { ScriptedRest } from '../../support/rest/scripted-rest.ts';

const reading = ['list_orders', 'show_order', 'list_commands', 'show_command', 'list_accounts', 'receipt'];
const sending = ['preview_place', 'preview_place_prediction', 'preview_replace', 'preview_cancel', 'commit'];

async function offered(caller: object, readOnly = false): Promise<string[]> {
  const service = await ScriptedRest.start();
  Object.assign(service.caller, caller);
  const rig = await McpRig.start({ url: service.url, readOnly });
  return (await rig.tools()).map(({ name }) => name).toSorted();
}

describe('the tools', () => {
  it.each([
    ['orders:read alone', { scopes: ['orders:read'] }, reading],
    [
      'ops:read alone',
      { scopes: ['ops:read'] },
      ['list_commands', 'show_command', 'list_accounts', 'receipt', 'service_status'],
    ],
    ['orders:read and orders:write', { scopes: ['orders:read', 'orders:write'] }, [...reading, ...sending]],
    ['orders:write while commands are off', { scopes: ['orders:read', 'orders:write'], commands: 'off' }, reading],
  ])('are offered by the rights of the token: %s', async (_what, caller, names) => {
    expect(await offered(caller)).toEqual(names.toSorted());
  });

  it('that send are left out with --read-only', async () => {
    expect(await offered({ scopes: ['orders:read', 'orders:write'] }, true)).toEqual(reading.toSorted());
  });

  it('each have a plain object as input, say what they do, and whether they change anything', async () => {
    const service = await ScriptedRest.start();
    const rig = await McpRig.start({ url: service.url });
    const tools = await rig.tools();
    expect(tools.length).toBe(12);
    for (const { name, description, inputSchema, annotations } of tools) {
      expect(inputSchema.type, name).toBe('object');
      expect(JSON.stringify(inputSchema), `${name}: some clients read no references`).not.toContain('$ref');
      expect(description?.length, name).toBeGreaterThan(40);
      expect(annotations?.readOnlyHint, name).toBe(name !== 'commit');
    }
    const commit = tools.find(({ name }) => name === 'commit');
    expect(commit?.annotations).toMatchObject({ destructiveHint: true, idempotentHint: true });
  });

  it('end with the code of a problem, and say whether the same call may succeed later', async () => {
    const service = await ScriptedRest.start();
    const rig = await McpRig.start({ url: service.url });
    const missing = await rig.call('show_order', { stream: 'account', orderId: 'no-such' });
    expect(missing).toMatchObject({ isError: true, data: { code: 'NOT_FOUND', retryable: false } });
    service.reads = 'lost';
    expect(await rig.call('list_orders')).toMatchObject({
      isError: true,
      data: { code: 'NO_ANSWER', retryable: true },
    });
  });
});
