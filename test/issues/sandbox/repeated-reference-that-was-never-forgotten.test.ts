// What a user saw: A reference used again and again kept every order in memory and made each place slower.

import { expect, it } from 'vitest';
import { book } from '../../support/platform/book.ts';

it('a forgotten order is no longer found by its reference, wherever it stood among the others', () => {
  const { exchange, market, account } = book();
  const openAgain = () =>
    exchange.open({ ...market.inventor.invent('prediction', account, 0), clientOrderRef: 'mine' }, 'opened');
  const [first, second, third] = [openAgain(), openAgain(), openAgain()];
  exchange.forget(second);
  expect(exchange.byClientReference('mine')).toEqual([first, third]);
  exchange.forget(first);
  const fourth = openAgain();
  expect(exchange.byClientReference('mine')).toEqual([third, fourth]);
  for (const order of [third, fourth]) exchange.forget(order);
  expect(exchange.byClientReference('mine')).toEqual([]);
});
