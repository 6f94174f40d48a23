// What a user saw: SourceSilent paged for a process without accounts, though another one heard every event.

import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { SourceGauges } from '../../../src/service/sources/source-status.ts';

// Found in a picture of the dashboard: a process had given its last account to another one, and its
// last frame stood still. The stream looked silent, the verdict counted a doubt, and SourceSilent
// paged, though the other process heard every frame. So it was for each process that was drained.
it('a process that has given its last account away does not look silent', async () => {
  const metrics = createMetrics();
  const gauges = new SourceGauges(metrics.source);
  const source = {};
  const heard = { stream: 'account', lastFrameMs: 5000, lastEventMs: 4000 } as const;
  const shown = async () => {
    const values = [await metrics.source.lastFrame.get(), await metrics.source.lastEvent.get()];
    return values.map((gauge) => gauge.values.find(({ labels }) => labels.source === 'account')?.value);
  };
  gauges.set(source, { ...heard, accounts: [{ state: 'live', unrecovered: 0, inDoubt: 0, absent: [] }] });
  expect(await shown()).toEqual([5, 4]);
  gauges.set(source, { ...heard, accounts: [] });
  expect(await shown()).toEqual([0, 0]);
  gauges.set(source, { ...heard, accounts: [{ state: 'live', unrecovered: 0, inDoubt: 0, absent: [] }] });
  expect(await shown()).toEqual([5, 4]);
  gauges.remove(source);
  expect(await shown()).toEqual([0, 0]);
});
