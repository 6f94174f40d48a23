import { describe, expect, it } from 'vitest';
import type { CommandRequest } from '../../../src/domain/command.ts';
import {
  CommandRig,
  cancelWorking,
  failedLook,
  placeEquity,
  placePrediction,
  refused,
  replaceWorking,
  unknown,
  workingOrder,
} from '../../support/commands/command-rig.ts';

const minute = 60_000;
const hours = 6 * 60 * minute;

/** The list "Never" of the rules of truth, each by its name. */
describe('never', () => {
  it('a second write after one that may have been sent', async () => {
    for (const request of [placeEquity, placePrediction, replaceWorking, cancelWorking]) {
      const rig = await CommandRig.leading();
      rig.commit(workingOrder);
      rig.entry.scripts.push({ result: unknown });
      await rig.send(request);
      await rig.clock.advance(hours);
      expect(rig.entry.sent).toHaveLength(1);
    }
  });

  it('a verdict from a failed read, however often it fails', async () => {
    for (const request of [placeEquity, replaceWorking, cancelWorking]) {
      const rig = await CommandRig.leading();
      rig.commit(workingOrder);
      rig.probes.answer = () => failedLook('partial');
      rig.entry.scripts.push({ result: unknown });
      const { commandId } = await rig.send(request);
      await rig.clock.advance(hours);
      expect(rig.command(commandId)).toMatchObject({ state: 'unknown', misses: 0, presumedAbsent: false });
    }
  });

  it('"not found" read as rejected: of a place, a replace or a cancel', async () => {
    for (const request of [placeEquity, replaceWorking, cancelWorking]) {
      const rig = await CommandRig.leading();
      rig.commit(workingOrder);
      rig.entry.scripts.push({ result: unknown });
      const { commandId } = await rig.send(request);
      await rig.clock.advance(hours);
      expect(rig.probes.asked.length).toBeGreaterThan(10);
      expect(rig.state(commandId)).toBe('unknown');
    }
  });

  it('two commands bound to one order', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: unknown }, { result: unknown });
    const first = await rig.send(placeEquity);
    const second = await rig.send({ ...placeEquity, terms: { ...placeEquity.terms, qty: '20' } });
    const order = rig.land(first.commandId);
    // Told again as if it were of the other: its reference is none of that one's.
    rig.commit({ ...order, commandId: second.commandId }, { revision: 1, commandId: second.commandId });
    await rig.clock.advance(minute);
    expect(rig.command(first.commandId)).toMatchObject({ state: 'applied', orderId: order.orderId });
    expect(rig.command(second.commandId).state).toBe('unknown');
    expect(rig.command(second.commandId).orderId).toBeUndefined();
  });

  it('a second order under one reference without an alarm: the first stays the one that is bound', async () => {
    const rig = await CommandRig.leading();
    const { commandId } = await rig.send(placeEquity);
    const order = rig.land(commandId);
    await rig.clock.advance(10);
    rig.commit({ ...order, orderId: 'another' }, { commandId });
    await rig.clock.advance(10);
    expect(rig.command(commandId)).toMatchObject({ state: 'applied', orderId: order.orderId });
    expect(rig.codes(commandId)).toContain('second_order');
  });

  it('resolution that places or cancels by itself', async () => {
    const rig = await CommandRig.leading({ haltAt: { account: 1, service: 1 } });
    rig.commit(workingOrder);
    rig.entry.scripts.push({ result: unknown }, { result: refused(404) });
    await rig.send(placeEquity);
    await rig.send(cancelWorking);
    await rig.during(rig.commands.probeNow({ dryRun: false }));
    await rig.clock.advance(hours);
    expect(rig.entry.sent.map(({ request }) => request.kind)).toEqual(['place', 'cancel']);
  });

  it('an unknown forgotten over a restart, or over a hundred', async () => {
    let rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: unknown });
    const { commandId } = await rig.send(placeEquity);
    for (let i = 0; i < 100; i += 1) {
      await rig.clock.advance(1_000);
      rig.commands.endAll();
      rig = await CommandRig.leading({}, rig);
    }
    expect(rig.state(commandId)).toBe('unknown');
    await rig.clock.advance(10 * minute);
    expect(rig.probes.asked.length).toBeGreaterThan(0);
    rig.land(commandId);
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('applied');
  });

  it('cancel and new as a stand-in for replace', async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    rig.entry.scripts.push({ result: refused(409) });
    await rig.send(replaceWorking);
    await rig.clock.advance(minute);
    expect(rig.entry.sent.map(({ request }) => request)).toEqual([replaceWorking satisfies CommandRequest]);
  });

  it('anything sent twice, or resolved, by a step of the clock', async () => {
    for (const stepMs of [-3_600_000, 3_600_000]) {
      const rig = await CommandRig.leading();
      rig.entry.scripts.push({ result: unknown });
      const { commandId } = await rig.send(placeEquity);
      await rig.clock.advance(3_000);
      rig.clock.stepWall(stepMs);
      await rig.clock.advance(5 * minute);
      expect(rig.command(commandId)).toMatchObject({ state: 'unknown', presumedAbsent: false });
      expect(rig.entry.sent).toHaveLength(1);
      rig.land(commandId);
      await rig.clock.advance(10);
      expect(rig.state(commandId)).toBe('applied');
    }
  });
});
