import { describe, expect, it } from 'vitest';
import { DoubtWatch } from '../../../src/demo/break-it/doubt-watch.ts';
import { Incident } from '../../../src/demo/break-it/incident.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const notLive = { name: 'account_not_live', detail: '2 of 6 account streams not live' };
const lost = { name: 'silent_losses', detail: 'the stream lost 1 change in the last hour' };
const unknown = { name: 'commands_unresolved', detail: '1 command with a result that is not known' };

const incidentOf = () => new Incident(new VirtualClock(), 1, 'cut');
const textsOf = (incident: Incident) => incident.document().lines.map(({ kind, text }) => `${kind}: ${text}`);

describe('an incident', () => {
  it('waits for a person, goes on, and takes nothing more once it has healed', () => {
    const incident = incidentOf();
    expect(incident.underWay).toBe(true);
    incident.wait('A person may resolve it.');
    expect([incident.underWay, incident.open, incident.document().state]).toEqual([false, true, 'waits']);
    incident.add('evidence', 'Resolved.');
    incident.end('healed', 'Whole.');
    incident.add('evidence', 'Late.');
    incident.end('stuck', 'No.');
    expect([incident.open, incident.document().state]).toEqual([false, 'healed']);
    expect(textsOf(incident)).toEqual(['wait: A person may resolve it.', 'evidence: Resolved.', 'end: Whole.']);
  });

  it('has a bound of lines, and its end beside them', () => {
    const incident = incidentOf();
    for (let at = 0; at < 500; at += 1) incident.add('harm', String(at));
    incident.end('healed', 'Whole.');
    const { lines } = incident.document();
    expect([lines.length, lines.at(-1)?.text]).toEqual([61, 'Whole.']);
  });
});

describe('the doubts of an incident', () => {
  it('that outlast it are said with its end, so that the story agrees with the badge', () => {
    const doubts = new DoubtWatch([], { commands: true });
    expect(doubts.staying).toEqual([]);
    doubts.take([lost, notLive], incidentOf());
    expect([doubts.clear, doubts.staying.length]).toEqual([false, 1]);
    doubts.take([lost], incidentOf());
    expect([doubts.clear, doubts.staying.join()]).toEqual([true, expect.stringContaining('for an hour')]);
  });

  it('are those that came after it, with the words that they began with, until they go', () => {
    const incident = incidentOf();
    const doubts = new DoubtWatch([lost], { commands: true });
    doubts.take([lost, notLive], incident);
    expect(doubts.clear).toBe(false);
    doubts.take([{ ...notLive, detail: '1 of 6' }], incident);
    doubts.take([], incident);
    expect(doubts.clear).toBe(true);
    expect(textsOf(incident)).toEqual([
      'doubt: 2 of 6 account streams not live.',
      'doubt_gone: No longer: 2 of 6 account streams not live.',
    ]);
  });

  it('do not wait for a doubt that stays, nor for commands that the fault left alone', () => {
    const incident = incidentOf();
    const doubts = new DoubtWatch([], { commands: false });
    doubts.take([lost, unknown], incident);
    expect(doubts.clear).toBe(true);
    expect(textsOf(incident)).toEqual(['doubt: The stream lost 1 change in the last hour.']);
  });
});
