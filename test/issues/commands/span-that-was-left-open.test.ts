// What a user saw: The trace of a command whose write or submission failed lacked just that part.

import { expect, it } from 'vitest';
import type { SubmitCommand } from '../../../src/service/commands/submit-command.ts';
import { CommandTraces } from '../../../src/service/commands/trace-commands.ts';
import type { CommandJournal } from '../../../src/store/commands/command-journal.ts';
import { CommandRig, placeEquity, RigEntry } from '../../support/commands/command-rig.ts';
import { newPlace } from '../../support/commands/journal-fixtures.ts';
import { rigJournal } from '../../support/commands/rig-journal.ts';
import { TraceRig } from '../../support/rest/trace-rig.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const fence = { shard: 0, epoch: 1n };
const fails = (..._call: unknown[]): Promise<never> => Promise.reject(new Error('it broke'));

function traced() {
  const clock = new VirtualClock(1_000);
  const rig = new TraceRig(clock);
  const journal = rigJournal(clock);
  const entry = new RigEntry(clock);
  return { rig, journal, entry, traces: new CommandTraces(rig.tracing) };
}

/** Each span around a port, and a call of it. */
const calls = {
  'journal command': ({ traces, journal, entry }) =>
    traces.around({ journal: Object.assign(journal, { open: fails }), entry }).journal.open(newPlace(), fence),
  'platform place': ({ traces, journal }) => {
    const options = { mayWrite: async () => true, mayStillWrite: () => true, signal: new AbortController().signal };
    return traces.around({ journal, entry: { send: fails } }).entry.send(placeEquity, 'tm-1', options as never);
  },
  'command place': ({ traces }) => {
    const submitter = { submit: fails } as unknown as SubmitCommand;
    const submission = { principal: 'desk', idempotencyKey: 'k', requestId: 'r', request: placeEquity };
    return traces.aroundSubmit(submitter).submit(submission, undefined as never);
  },
  'command evidence': ({ traces, rig, journal, entry }) => {
    rig.tracing.rememberCommand('c', rig.tracing.begin('caller').context);
    const evidence = { kind: 'read', code: 'missed', detail: {}, atMs: 1 } as const;
    const around = traces.around({ journal: Object.assign(journal, { noteMisses: fails }), entry });
    return around.journal.noteMisses([{ commandId: 'c', version: 1, evidence }], fence);
  },
} satisfies Record<string, (of: ReturnType<typeof traced>) => Promise<unknown>>;

it.each(Object.entries(calls))('%s ends as a failure where its call rejects', async (name, call) => {
  const of = traced();
  await expect(call(of)).rejects.toThrow('it broke');
  expect(of.rig.named(name).status).toMatchObject({ code: 2, message: 'no answer' });
});

it('the write of a whole command ends too where the entry rejects', async () => {
  const made: TraceRig[] = [];
  const tracing = (clock: VirtualClock) => {
    const rig = new TraceRig(clock);
    made.push(rig);
    return rig.tracing;
  };
  const rig = await CommandRig.leading({ tracing });
  rig.entry.send = fails;
  void rig.commands.submit(rig.submission(placeEquity)).catch(() => undefined);
  await rig.clock.advance(60_000);
  expect(made[0]?.names).toContain('platform place');
});

it('a method that is not traced is one function, however often it is looked up', () => {
  const { traces, journal, entry } = traced();
  const around: CommandJournal = traces.around({ journal, entry }).journal;
  expect(around.find).toBe(around.find);
  const other = async () => undefined;
  journal.find = other;
  expect(around.find).not.toBe(other);
  expect(around.find('c')).toBeInstanceOf(Promise);
});
