import { describe, expect, it } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import { alpacaSettings } from '../../src/sandbox/alpaca/describe-alpaca.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { alpacaClient } from '../support/platform/alpaca.ts';
import { control, controlLines, runningSandbox } from '../support/platform/sandbox.ts';
import { cliIo } from '../support/rest/cli-io.ts';
import { McpProcess } from '../support/rest/mcp-process.ts';
import { eventually } from '../support/runs/poll.ts';
import { World } from '../support/runs/service-under-test.ts';

const accountId = 'SIM-1001';
/** Far below every market: it rests. */
const resting = { accountId, symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '5', price: '1', timeInForce: 'GTC' };

async function started() {
  const { description: sandbox } = await runningSandbox();
  const world = await World.create({ platform: platformSettings(sandbox), env: { TIDEMARK_COMMANDS: 'on' } });
  const service = await world.serve();
  await service.waitLive();
  const env = { TIDEMARK_URL: await service.restAddress() };
  const assistant = await McpProcess.start(env);
  return { sandbox, service, env, assistant };
}

describe('tidemark mcp, from an assistant to the platform and back', () => {
  it('shows accounts, orders, commands and the state of the service; places, replaces and cancels by preview and commit', async () => {
    const { sandbox, assistant } = await started();
    const { rig } = assistant;
    expect(assistant.err).toMatch(/^loopback: 12 tools: list_orders /);
    expect((await rig.call('list_accounts')).text).toContain(`${accountId}  account  simulated  live`);
    expect((await rig.call('service_status')).data.doubts).toBeInstanceOf(Array);

    const [symbol] = sandbox.predictionSymbols;
    const terms = {
      accountId,
      symbol,
      outcome: 'YES',
      side: 'buy',
      orderType: 'limit',
      timeInForce: 'gtc',
      price: '0.01',
    };
    const preview = await rig.call('preview_place_prediction', { ...terms, quantity: '10', clientOrderRef: 'mine-1' });
    expect(preview).toMatchObject({
      isError: false,
      data: { value: '0.1', account: { simulated: true }, limits: [], halts: [] },
    });
    const placed = await rig.call('commit', { previewId: preview.data.previewId, waitSeconds: 20 });
    expect(placed).toMatchObject({ isError: false, data: { result: 'applied', final: true } });
    expect(placed.data.evidence.length).toBeGreaterThan(0);
    const { orderId, commandId } = placed.data.command;

    const named = { stream: 'prediction', orderId, accountId };

    const order = await rig.call('show_order', { stream: 'prediction', orderId });
    expect(order.data.order).toMatchObject({ commandId, callerRef: 'mine-1', quantity: '10', price: '0.01' });
    expect(order.data.history.length).toBeGreaterThan(0);
    expect((await rig.call('list_orders', { symbol, find: 'mine-1' })).data.orders).toMatchObject([{ orderId }]);
    expect((await rig.call('list_commands', { find: commandId })).data.commands).toMatchObject([{ result: 'applied' }]);
    expect((await rig.call('show_command', { commandId })).data.recomputed).toMatchObject({
      state: 'applied',
      agrees: true,
    });

    const replace = await rig.call('preview_replace', { ...named, price: '0.02' });
    expect(replace.data).toMatchObject({ changes: [{ term: 'price', from: '0.01', to: '0.02' }], refusals: [] });
    const replaced = await rig.call('commit', { previewId: replace.data.previewId, waitSeconds: 20 });
    expect(replaced.data).toMatchObject({ result: 'applied', command: { kind: 'replace' } });
    const late = await rig.call('preview_replace', { ...named, price: '0.03' });
    const cancel = await rig.call('preview_cancel', named);
    const cancelled = await rig.call('commit', { previewId: cancel.data.previewId, waitSeconds: 20 });
    expect(cancelled.data).toMatchObject({ result: 'applied', command: { kind: 'cancel' } });
    const refused = await rig.call('commit', { previewId: late.data.previewId });
    expect(refused, 'the order has changed since that preview').toMatchObject({
      isError: true,
      data: { retryable: false },
    });
  }, 240_000);

  it('replaces once at Alpaca, where the answer is lost, and shows the orders on both ends', async () => {
    const client = await alpacaClient({ alpaca: { requestsPerMinute: 100_000 } });
    const world = await World.create({ platform: alpacaSettings(client.at), env: { TIDEMARK_COMMANDS: 'on' } });
    const service = await world.serve();
    await service.waitLive();
    const { rig } = await McpProcess.start({ TIDEMARK_URL: await service.restAddress() });
    const placed = { ...resting, accountId: client.accountNumber, stream: 'alpaca_paper', price: '187.10' };
    const { previewId } = (await rig.call('preview_place', placed)).data;
    const { orderId } = (await rig.call('commit', { previewId, waitSeconds: 20 })).data.command;

    const named = { stream: 'alpaca_paper', orderId, accountId: client.accountNumber };
    const preview = await rig.call('preview_replace', { ...named, quantity: '7', price: '187.20' });
    expect(preview).toMatchObject({ isError: false, data: { value: '1310.4', refusals: [] } });
    await client.fault({ on: 'write', fault: 'status_504', applied: 'yes' });
    const commit = { previewId: preview.data.previewId, waitSeconds: 20 };
    const [replaced, again] = [await rig.call('commit', commit), await rig.call('commit', commit)];
    expect(replaced.data).toMatchObject({ result: 'applied', command: { kind: 'replace' } });
    expect(again.data.command).toMatchObject({ commandId: replaced.data.command.commandId });
    const next = replaced.data.command.orderId;
    await eventually(async () => {
      const orders = (await rig.call('list_orders', { includeClosed: true, symbol: 'AAPL', find: 'tm-' })).data.orders;
      expect(orders).toContainEqual(expect.objectContaining({ orderId, status: 'replaced', replacedBy: next }));
      expect(orders).toContainEqual(expect.objectContaining({ orderId: next, quantity: '7', replaces: orderId }));
    });
    const ours = (await client.get('/v2/orders?status=all&limit=500')).json.filter(
      ({ client_order_id: id }: { client_order_id: string }) => id.startsWith('tm-'),
    );
    expect(ours).toHaveLength(2);
    const late = await rig.call('preview_replace', { ...named, price: '187.30' });
    expect(late.data.refusals).toMatchObject([{ code: 'ORDER_CLOSED' }]);
  }, 240_000);

  it('reads a list page by page, each order once', async () => {
    const { assistant } = await started();
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { data } = await assistant.rig.call('list_orders', {
        includeClosed: true,
        limit: 7,
        ...(cursor !== undefined && { cursor }),
      });
      expect(data.orders.length).toBeLessThanOrEqual(7);
      seen.push(...data.orders.map(({ orderId }: { orderId: string }) => orderId));
      cursor = data.next;
    } while (cursor !== undefined);
    expect(seen.length).toBeGreaterThan(7);
    expect(new Set(seen).size).toBe(seen.length);
  }, 240_000);

  it('tells of a 504 that it is unknown, and finds the order after the process was killed, which the platform has once', async () => {
    const { sandbox, env, assistant } = await started();
    const rules = [{ on: 'write', fault: 'outcome_unknown', write: 'place', applied: 'late', delayMs: 4000 }];
    await control(sandbox, '/faults', { rules });
    const { previewId } = (await assistant.rig.call('preview_place', resting)).data;
    const unknown = await assistant.rig.call('commit', { previewId, waitSeconds: 0 });
    expect(unknown).toMatchObject({
      isError: false,
      data: { result: 'unknown', final: false, askAgain: { tool: 'receipt' } },
    });
    assistant.kill9();
    const { rig } = await McpProcess.start(env);
    const found = await eventually(
      async () => {
        const { data } = await rig.call('commit', { previewId });
        expect(data.result).toBe('applied');
        return data;
      },
      { deadlineMs: 120_000, everyMs: 250 },
    );
    expect(found.command.commandId).toBe(unknown.data.command.commandId);
    const decisions = await controlLines(sandbox, '/ledger?kind=decision');
    expect(decisions.filter(({ decision }) => decision === 'accepted')).toHaveLength(1);
  }, 240_000);

  it('ends with 69 where no service answers', async () => {
    const io = cliIo({ TIDEMARK_URL: 'http://127.0.0.1:1' });
    await runProgram(io, ['mcp']);
    expect([io.code(), io.out()]).toEqual([69, '']);
    expect(io.err()).toContain('no answer from http://127.0.0.1:1');
  });
});
