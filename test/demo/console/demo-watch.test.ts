import { describe, expect, it } from 'vitest';
import type { DemoDocument, IncidentDocument } from '../../../src/demo/break-it/shapes.ts';
import { DemoWatch } from '../../../src/demo/console/demo-watch.ts';
import { ConsoleRig } from '../../support/rest/console-rig.ts';

const incident: IncidentDocument = {
  id: 1,
  fault: 'cut',
  at: '2026-11-22T20:00:00.000Z',
  state: 'under_way',
  lines: [],
  harmed: 0,
  recovered: 0,
};
const documentOf = (over: Partial<DemoDocument> = {}): DemoDocument => ({
  faults: ['cut'],
  incidents: [],
  proof: { state: 'none' },
  ...over,
});

async function watching() {
  const rig = new ConsoleRig();
  const show = (document: DemoDocument) => rig.answers.set('/console/demo', { status: 200, body: document });
  show(documentOf());
  const watch = new DemoWatch(rig.state.ports, rig.state.rest);
  const abort = new AbortController();
  void watch.follow(abort.signal);
  await rig.settle();
  const reads = () => rig.asked.filter(({ path }) => path === '/console/demo').length;
  return { rig, watch, abort, show, reads };
}

describe('the page Break it', () => {
  it('asks often while something is under way, and seldom else', async () => {
    const { rig, show, reads, abort } = await watching();
    expect(reads()).toBe(1);
    await rig.pass(400);
    expect(reads()).toBe(1);
    show(documentOf({ incidents: [incident] }));
    await rig.pass(1600);
    await rig.pass(400);
    await rig.pass(400);
    expect(reads()).toBe(4);
    abort.abort();
    await rig.pass(10_000);
    expect(reads()).toBe(4);
  });

  it('presses a button, reads at once what followed, and shows why a button did nothing', async () => {
    const { rig, watch, show } = await watching();
    rig.answers.set('POST /console/demo/breaks', { status: 200, body: { id: 1 } });
    show(documentOf({ incidents: [incident] }));
    await watch.breakIt('cut');
    expect(rig.asked.find(({ method }) => method === 'POST')?.body).toEqual({ fault: 'cut' });
    expect(watch.state.value.document?.incidents).toEqual([incident]);
    rig.answers.set('POST /console/demo/proofs', {
      status: 409,
      body: { code: 'DEMO_BUSY', detail: 'Wait for its end.' },
    });
    await watch.prove();
    expect(watch.state.value.note).toBe('Wait for its end.');
  });

  it('keeps the last story when the demo does not answer, and says so', async () => {
    const { rig, watch, show } = await watching();
    show(documentOf({ incidents: [incident] }));
    await rig.pass(2000);
    rig.answers.set('/console/demo', { status: 503, body: { code: 'DEMO_AWAY', detail: 'the demo does not answer' } });
    await rig.pass(400);
    expect(watch.state.value).toEqual({
      document: documentOf({ incidents: [incident] }),
      note: 'the demo does not answer',
    });
    show(documentOf());
    await rig.pass(400);
    expect(watch.state.value.note).toBeUndefined();
  });

  it('resolves a command as a person does, by REST', async () => {
    const { rig, watch } = await watching();
    rig.answers.set('POST /v1/commands/c-1/resolution', { status: 200, body: {} });
    await watch.resolveAsRejected('c-1');
    expect(rig.asked.find(({ method }) => method === 'POST')?.body).toEqual({
      result: 'rejected',
      reason: "not in the platform's ledger",
    });
  });
});
