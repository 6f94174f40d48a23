import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isAddressable, isAskableId, isOddId, isPlatformId, platformId } from '../../src/domain/platform-id.ts';
import { anyIds, noIds, outOfReachIds, reachableIds } from '../support/orders/odd-ids.ts';

const list = '/v1/orders';

/** A gateway that decodes the path so many times and then walks it, as servers of many kinds do. */
function walked(path: string, decodings: number): string {
  let text = path;
  for (let done = 0; done < decodings; done += 1)
    text = text.replace(/%([0-9a-f]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  // Some cut the path at these; some take a backslash for a slash.
  for (const cut of [/[?#].*$/s, /;[^/\\]*/g]) text = text.replace(cut, '');
  const way: string[] = [];
  for (const segment of text.split(/[/\\]/)) {
    if (segment === '..') way.pop();
    else if (segment !== '.') way.push(segment);
  }
  return way.join('/');
}

describe('an id that may stand in an address', () => {
  it('leads nowhere but below the list of orders, however often the path is decoded on the way', () => {
    fc.assert(
      fc.property(anyIds(), fc.nat(5), (id, decodings) => {
        if (!isPlatformId(id) || !isAddressable(id)) return true;
        const { pathname } = new URL(`http://platform${list}/${encodeURIComponent(id)}`);
        const place = walked(pathname, decodings);
        // Only a gateway that takes the decoded text for a query or a parameter may see the list.
        const isBelow = place.startsWith(`${list}/`) && place.length > list.length + 1;
        return (
          decodeURIComponent(pathname) === `${list}/${id}` && (isBelow || (/[?#;%]/.test(id) && place.startsWith(list)))
        );
      }),
      { numRuns: 1_000 },
    );
  });

  it.each(reachableIds)('is %j', (id) => {
    expect([isPlatformId(id), isAddressable(id)]).toEqual([true, true]);
  });

  it.each(outOfReachIds)('is not %j, which is followed', (id) => {
    expect([isPlatformId(id), isAddressable(id)]).toEqual([true, false]);
  });
});

it.each(noIds)('is no id: %j', (text) => {
  expect([isPlatformId(text), isAskableId('account', text)]).toEqual([false, false]);
});

it('an id that a caller may ask for is one that may stand in an address', () => {
  fc.assert(
    fc.property(anyIds(), fc.constantFrom('account' as const, 'prediction' as const), (id, stream) => {
      if (isAskableId(stream, id)) expect([isPlatformId(id), isAddressable(id)]).toEqual([true, true]);
    }),
    { numRuns: 2_000 },
  );
});

it('the quick look at an id never decides otherwise than the whole one', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 130 }), (id) => {
      if (!isOddId(id)) expect([platformId.test(id), isAddressable(`${id} `)]).toEqual([true, true]);
    }),
  );
});
