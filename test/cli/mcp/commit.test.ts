import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import { anyPlace, McpRig, scriptedRest } from '../../support/rest/mcp-rig.ts';
import { ScriptedRest } from '../../support/rest/scripted-rest.ts';

const place = { ...anyPlace, symbol: 'aapl' };

async function previewed(rig: McpRig, order: Record<string, unknown> = place): Promise<string> {
  return (await rig.call('preview_place', order)).data.previewId;
}

/** The machine's clock, which a test moves on. */
function shiftedClock() {
  const shift = { wallMs: 0, monotonicMs: 0 };
  const clock: Clock = {
    ...systemClock,
    nowMs: () => systemClock.nowMs() + shift.wallMs,
    monotonicMs: () => systemClock.monotonicMs() + shift.monotonicMs,
  };
  return { shift, clock };
}

describe('commit', () => {
  it('sends what the preview showed, once, under the key of the preview', async () => {
    const { service, rig } = await scriptedRest();
    const previewId = await previewed(rig);
    expect(service.sent).toEqual([]);
    const first = await rig.call('commit', { previewId });
    expect(first.isError).toBe(false);
    expect(first.data).toMatchObject({
      result: 'applied',
      final: true,
      previewId,
      idempotencyKey: `mcp-${previewId}`,
    });
    const again = await rig.call('commit', { previewId });
    expect(again.data.command.commandId).toBe(first.data.command.commandId);
    expect(service.sent).toHaveLength(1);
    expect(service.sent[0]).toMatchObject({
      method: 'POST',
      path: '/v1/orders',
      headers: { 'idempotency-key': `mcp-${previewId}` },
    });
    expect(JSON.parse(service.sent[0]?.body ?? '')).toEqual({ ...place, symbol: 'AAPL' });
  });

  it('gives calls that come at once one answer, and sends once', async () => {
    const { service, rig } = await scriptedRest();
    const previewId = await previewed(rig);
    const answers = await Promise.all([1, 2, 3].map(() => rig.call('commit', { previewId })));
    expect(new Set(answers.map(({ data }) => data.command.commandId)).size).toBe(1);
    expect(service.sent).toHaveLength(1);
  });

  it('finds the command of an answer that was lost, without a second request', async () => {
    const { service, rig } = await scriptedRest();
    const previewId = await previewed(rig);
    service.fates = [{ kind: 'answer_lost' }];
    expect((await rig.call('commit', { previewId })).data).toMatchObject({ result: 'applied', previewId });
    expect(service.sent).toHaveLength(1);
  });

  it('takes the page of a proxy for no answer', async () => {
    const { service, rig } = await scriptedRest();
    const previewId = await previewed(rig);
    service.fates = [{ kind: 'foreign_page' }];
    expect((await rig.call('commit', { previewId })).data).toMatchObject({ result: 'applied' });
  });

  it('answers unknown, and not an error, where it is not known whether the request arrived; the same commit then sends under the same key', async () => {
    const { service, rig } = await scriptedRest();
    const previewId = await previewed(rig);
    service.fates = [{ kind: 'request_lost' }];
    const lost = await rig.call('commit', { previewId });
    expect(lost.isError).toBe(false);
    expect(lost.data).toMatchObject({ result: 'unknown', final: false, askAgain: { tool: 'receipt', id: previewId } });
    expect((await rig.call('receipt', { id: previewId })).data).toMatchObject({ result: 'unknown' });
    expect((await rig.call('commit', { previewId })).data).toMatchObject({ result: 'applied' });
    const keys = service.sent.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toEqual([`mcp-${previewId}`, `mcp-${previewId}`]);
  });

  it('does not take a refusal for the end of a request that was sent before and not answered', async () => {
    const { service, rig } = await scriptedRest();
    const previewId = await previewed(rig);
    service.fates = [{ kind: 'request_lost' }, { kind: 'problem', status: 409, code: 'PLACING_HALTED' }];
    await rig.call('commit', { previewId });
    const second = await rig.call('commit', { previewId });
    expect([second.isError, second.data.result]).toEqual([false, 'unknown']);
  });

  it('answers unknown while the service says nothing at all, and finds the command later', async () => {
    const { service, rig } = await scriptedRest();
    const previewId = await previewed(rig);
    service.fates = [{ kind: 'answer_lost' }];
    const commit = rig.call('commit', { previewId });
    await expect.poll(() => service.sent.length).toBe(1);
    service.reads = 'lost';
    const answer = await commit;
    expect(answer.isError).toBe(false);
    expect(['unknown', 'applied']).toContain(answer.data.result);
    expect((await rig.call('commit', { previewId })).isError).toBe(false);
    service.reads = 'answered';
    expect((await rig.call('receipt', { id: previewId })).data.result).toBe('applied');
    expect(service.sent).toHaveLength(1);
  });

  it('shows a result that the service does not know yet as unknown, with the time to ask again', async () => {
    const { service, rig } = await scriptedRest();
    const previewId = await previewed(rig);
    const unknown = {
      result: 'unknown',
      state: 'unknown',
      unresolved: true,
      orderId: undefined,
      orderStatus: undefined,
    };
    service.fates = [{ kind: 'answered', status: 202, with: unknown }];
    const answer = await rig.call('commit', { previewId });
    expect(answer.isError).toBe(false);
    const { commandId } = answer.data.command;
    expect(answer.data).toMatchObject({
      result: 'unknown',
      final: false,
      askAgain: { tool: 'receipt', id: commandId },
    });
    expect(answer.text).toContain('Nothing is sent a second time');
    expect((await rig.call('receipt', { id: commandId })).data.result).toBe('unknown');
  });

  it('says why the service took nothing; a preview that may pass later can be committed again', async () => {
    const { service, rig } = await scriptedRest();
    const refused = await previewed(rig);
    service.fates = [{ kind: 'problem', status: 409, code: 'LIMIT_EXCEEDED' }];
    expect(await rig.call('commit', { previewId: refused })).toMatchObject({
      isError: true,
      data: { code: 'LIMIT_EXCEEDED', retryable: false },
    });
    expect(await rig.call('commit', { previewId: refused })).toMatchObject({
      isError: true,
      data: { code: 'PREVIEW_UNKNOWN' },
    });
    expect(service.sent).toHaveLength(1);

    const later = await previewed(rig);
    service.fates = [{ kind: 'problem', status: 503, code: 'NOT_LEADER' }];
    expect(await rig.call('commit', { previewId: later })).toMatchObject({ isError: true, data: { retryable: true } });
    expect((await rig.call('receipt', { id: later })).data.result).toBe('not_committed');
    expect((await rig.call('commit', { previewId: later })).data.result).toBe('applied');
  });

  it('sends nothing two minutes after the preview, by either clock', async () => {
    const service = await ScriptedRest.start();
    for (const passed of [
      { wallMs: 0, monotonicMs: 120_000 },
      { wallMs: 120_000, monotonicMs: 0 },
    ]) {
      const { shift, clock } = shiftedClock();
      const rig = await McpRig.start({ url: service.url, clock });
      const previewId = await previewed(rig);
      Object.assign(shift, passed);
      expect(await rig.call('commit', { previewId })).toMatchObject({
        isError: true,
        data: { code: 'PREVIEW_EXPIRED' },
      });
    }
    expect(service.sent).toEqual([]);
  });

  it('only looks for a request that was not answered once the time of its preview is over', async () => {
    const service = await ScriptedRest.start();
    const { shift, clock } = shiftedClock();
    const rig = await McpRig.start({ url: service.url, clock });
    const previewId = await previewed(rig);
    service.fates = [{ kind: 'request_lost' }];
    await rig.call('commit', { previewId });
    shift.monotonicMs = 120_000;
    expect(await rig.call('commit', { previewId })).toMatchObject({ isError: false, data: { result: 'unknown' } });
    expect(service.sent).toHaveLength(1);
  });

  it('finds after a restart what was sent before, and sends nothing for a preview that it does not have', async () => {
    const { service, rig } = await scriptedRest();
    const [sent, unsent] = [await previewed(rig), await previewed(rig)];
    await rig.call('commit', { previewId: sent });
    await rig.stop();
    const next = await McpRig.start({ url: service.url });
    expect((await next.call('commit', { previewId: sent })).data).toMatchObject({
      result: 'applied',
      previewId: sent,
    });
    expect((await next.call('receipt', { id: sent })).data.result).toBe('applied');
    const unknown = await next.call('commit', { previewId: unsent });
    expect(unknown).toMatchObject({ isError: true, data: { code: 'PREVIEW_UNKNOWN' } });
    expect(unknown.text).toContain(`mcp-${unsent}`);
    expect(service.sent).toHaveLength(1);
  });

  it('sends nothing under another principal: for it the same key would be another command', async () => {
    const { service, rig } = await scriptedRest();
    const previewId = await previewed(rig);
    service.caller = { ...service.caller, principal: 'another' };
    expect(await rig.call('commit', { previewId })).toMatchObject({ isError: true, data: { code: 'OTHER_PRINCIPAL' } });
    expect(service.sent).toEqual([]);
  });

  it('names an id that is of nothing', async () => {
    const { rig } = await scriptedRest();
    expect(await rig.call('receipt', { id: randomUUID() })).toMatchObject({
      isError: true,
      data: { code: 'NOT_FOUND' },
    });
    expect((await rig.call('commit', { previewId: 'x' })).isError).toBe(true);
  });
});
