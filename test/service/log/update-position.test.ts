import { describe, expect, it } from 'vitest';
import { streams } from '../../../src/domain/order.ts';
import { updatePosition } from '../../../src/service/log/update-position.ts';
import { sampleUpdate } from '../../support/orders/sample-update.ts';

describe('issue: `tidemark verify` called every record of an Alpaca paper account foreign.', () => {
  it.each(streams)('reads the position of an update of the stream %s', (stream) => {
    const update = sampleUpdate({ stream, revision: 3, generation: 7 });
    expect(updatePosition(update)).toEqual({ generation: 7, revision: 3 });
  });
});

it('reads none of a record of another form', () => {
  expect(updatePosition('{"hello":"world"}')).toBeUndefined();
});
