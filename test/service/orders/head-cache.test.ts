import { describe, expect, it } from 'vitest';
import type { Head } from '../../../src/domain/head.ts';
import type { OrderStatus } from '../../../src/domain/order.ts';
import { HeadCache } from '../../../src/service/orders/head-cache.ts';

const head = (status: OrderStatus) => ({ order: { status }, revision: 1, join: {} }) as unknown as Head;

function filled(capacity: number, status: OrderStatus, count: number): HeadCache {
  const cache = new HeadCache(capacity);
  for (let i = 0; i < count; i += 1) cache.set(`account:${status}-${i}`, head(status));
  return cache;
}

describe('the head cache', () => {
  it('gives closed orders a fifth of the room, so that they cannot crowd out open ones', () => {
    const cache = filled(100, 'new', 60);
    for (let i = 0; i < 1000; i += 1) cache.set(`account:filled-${i}`, head('filled'));
    cache.trim();
    expect(cache.size).toBe(80);
    expect(cache.has('account:new-0')).toBe(true);
    expect(cache.has('account:filled-979')).toBe(false);
    expect(cache.has('account:filled-980')).toBe(true);
  });

  it('lets the least recently written open order go first', () => {
    const cache = filled(10, 'new', 10);
    cache.set('account:new-0', head('partially_filled'));
    cache.set('account:one-more', head('new'));
    cache.trim();
    expect(cache.has('account:new-1')).toBe(false);
    expect(cache.has('account:new-0')).toBe(true);
  });

  it('holds an order once, also when it closes', () => {
    const cache = filled(10, 'new', 1);
    cache.set('account:new-0', head('canceled'));
    expect(cache.size).toBe(1);
    expect(cache.get('account:new-0')?.order.status).toBe('canceled');
    cache.evict('account:new-0');
    expect(cache.has('account:new-0')).toBe(false);
  });

  it('keeps pinned heads, open or closed, beyond its capacity', () => {
    const cache = filled(5, 'filled', 20);
    cache.pin('account:filled-0');
    cache.trim();
    expect(cache.has('account:filled-0')).toBe(true);
    cache.unpin('account:filled-0');
    cache.set('account:filled-20', head('filled'));
    cache.trim();
    expect(cache.has('account:filled-0')).toBe(false);
  });

  it('keeps the pins of an order that closes', () => {
    const cache = filled(5, 'new', 1);
    cache.pin('account:new-0');
    cache.set('account:new-0', head('filled'));
    for (let i = 0; i < 20; i += 1) cache.set(`account:filled-${i}`, head('filled'));
    cache.trim();
    expect(cache.has('account:new-0')).toBe(true);
  });
});
