import { expect, it, onTestFinished } from 'vitest';
import { BreakIt } from '../../../src/demo/break-it/break-it.ts';
import { groupsOf } from '../../../src/demo/console/fault-words.ts';
import { TopicCounts } from '../../../src/demo/proof/topic-counts.ts';
import { demoSandbox } from '../../../src/demo/stack/demo-sandbox.ts';
import type { DemoStack } from '../../../src/demo/start-stack.ts';
import { cliIo } from '../../support/rest/cli-io.ts';
import { silentLog } from '../../support/runs/silent-log.ts';

function atAlpaca(ownCommands: boolean): BreakIt {
  const nowhere = 'http://127.0.0.1:9';
  const sandbox = demoSandbox({ venue: 'alpaca', url: nowhere, stream: nowhere, control: nowhere, accounts: [] });
  const stack = { sandbox, databaseUrl: 'postgres://127.0.0.1:9/none', restAddress: nowhere } as DemoStack;
  const deps = { io: cliIo(), log: silentLog, stack, counts: new TopicCounts(), ownCommands: () => ownCommands };
  const watched = new BreakIt(deps, { rate: 1 });
  onTestFinished(() => watched.close());
  return watched;
}

it('at Alpaca there is a button for each fault but the lost store: its orders have no versions', () => {
  const watched = atAlpaca(false);
  const { faults } = watched.document();
  expect([faults.length, faults.includes('lost_store')]).toEqual([9, false]);
  expect(groupsOf(faults).map(({ title }) => title)).toEqual(['Messages', 'Connections', 'Orders']);
  expect(watched.breakIt('lost_store')).toEqual({ refused: "Alpaca can't do that." });
});

it("at Alpaca an order's fault waits until the demo's own orders are over: both are on one account", () => {
  const refused = { refused: "The demo's own orders are under way: wait for their end." };
  expect(atAlpaca(true).breakIt('landed')).toEqual(refused);
  expect(atAlpaca(true).breakIt('duplicate')).toEqual({ id: 1 });
  expect(atAlpaca(false).breakIt('landed')).toEqual({ id: 1 });
});
