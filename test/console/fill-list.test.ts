import { describe, expect, it } from 'vitest';
import { FillList } from '../../src/console/state/orders/fill-list.ts';
import { fillsCsv } from '../../src/console/state/orders/order-csv.ts';
import type { OrderUpdate } from '../../types/records.d.ts';
import { ConsoleRig, updateOf } from '../support/rest/console-rig.ts';

/** A revision that changed the filled quantity, by `fill` unless it was taken back. */
function filled(revision: number, cumQty: string, fill?: OrderUpdate['fill']): OrderUpdate {
  const { fill: _sample, ...update } = updateOf({ revision, cumQty });
  return { ...update, changed: ['cumQty'], ...(fill !== undefined && { fill }) };
}

function start() {
  const rig = new ConsoleRig();
  const list = new FillList(rig.state);
  const shown = () => list.fills.map(({ row, quantity, takenBack }) => [row.orderId, quantity, takenBack]);
  return { rig, list, shown };
}

describe('the fills of all orders', () => {
  it('are the rises of the filled quantity, and what was taken back is shown as such', () => {
    const { list, shown } = start();
    list.take(filled(1, '0'));
    list.take(filled(2, '40', { quantity: '40', price: '191.5', inferred: false }));
    list.take({ ...filled(3, '25.5'), cause: 'correction' });
    list.take({ ...filled(4, '25.5'), changed: ['price'] });
    expect(shown()).toEqual([
      ['ord-1', '40', false],
      ['ord-1', '-14.5', true],
    ]);
  });

  it('do not guess how much was taken back where the revision before was not seen', () => {
    const { list, shown } = start();
    list.take(filled(7, '25'));
    expect(shown()).toEqual([['ord-1', undefined, true]]);
  });

  it('come once, also where the stream brings an update again', () => {
    const { list, shown } = start();
    const update = filled(2, '40', { quantity: '40', inferred: true });
    for (let times = 0; times < 3; times += 1) list.take(update);
    expect(shown()).toHaveLength(1);
  });

  it('are read from before the end of the log, by a stream that goes on', async () => {
    const { rig, list, shown } = start();
    const abort = new AbortController();
    void list.follow('25000.7.1', abort.signal);
    await rig.settle();
    expect(rig.asked.at(-1)?.path).toBe('/v1/stream?after=15000');
    const update = filled(2, '40', { quantity: '40', inferred: false });
    await rig.streams.at(-1)?.send(`id: 15001\nevent: update\ndata: ${JSON.stringify(update)}\n\n`);
    rig.draw();
    expect([shown().length, list.version.value, list.isReading.value]).toEqual([1, 1, true]);
    // A heartbeat: the newest updates are of accounts that this reader may not see.
    await rig.streams.at(-1)?.send('id: 25000.7.1\n\n');
    expect(list.isReading.value).toBe(false);
    abort.abort();
  });

  it('have a file of their own, with whole values', () => {
    const { list } = start();
    const long = `0.${'1'.repeat(40)}`;
    list.take(filled(2, long, { quantity: long, inferred: true }));
    const [head, line] = fillsCsv(list.fills).split('\r\n');
    expect(head).toContain('orderId,accountId,revision');
    expect(line).toContain(`,buy,${long},,true,false,${long},100,`);
  });
});
