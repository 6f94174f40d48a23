import { describe, expect, it } from 'vitest';
import { SignalGate } from '../../src/cli/signal-gate.ts';

describe('a signal', () => {
  it('ends the process at once when nobody listens', () => {
    const gate = new SignalGate();
    expect(gate.receive('SIGINT')).toBe(130);
    expect(gate.receive('SIGTERM')).toBe(143);
  });

  it('is told to who listens, and ends nothing', () => {
    const gate = new SignalGate();
    const heard: string[] = [];
    gate.listen((signal) => heard.push(signal));
    expect(gate.receive('SIGTERM')).toBeUndefined();
    expect(heard).toEqual(['SIGTERM']);
  });

  it('ends the process at once when it is the second, of whatever kind', () => {
    const gate = new SignalGate();
    const heard: string[] = [];
    gate.listen((signal) => heard.push(signal));
    gate.receive('SIGTERM');
    expect(gate.receive('SIGINT')).toBe(130);
    expect(heard).toEqual(['SIGTERM']);
  });

  it('is not told to who has gone', () => {
    const gate = new SignalGate();
    gate.listen(() => {})();
    expect(gate.receive('SIGHUP')).toBe(129);
  });

  it.each([
    ['the process first', 'system', 'launcher'],
    ['the launcher first', 'launcher', 'system'],
  ] as const)('to the whole group is one, though it comes by two ways: %s', (_, first, then) => {
    const gate = new SignalGate();
    const heard: string[] = [];
    gate.listen((signal) => heard.push(signal));
    expect(gate.receive('SIGINT', first)).toBeUndefined();
    expect(gate.receive('SIGINT', then)).toBeUndefined();
    expect(heard).toEqual(['SIGINT']);
    expect(gate.receive('SIGINT', then)).toBe(130);
  });

  it('to the launcher alone asks once, and twice the second time', () => {
    const gate = new SignalGate();
    gate.listen(() => {});
    expect(gate.receive('SIGTERM', 'launcher')).toBeUndefined();
    expect(gate.receive('SIGTERM', 'launcher')).toBe(143);
  });
});
