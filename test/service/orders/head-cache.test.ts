import { describe, expect, it } from 'vitest';
import type { Head } from '../../../src/domain/head.ts';
import type { OrderStatus } from '../../../src/domain/order.ts';
import { HeadCache, type Slot } from '../../../src/service/orders/head-cache.ts';

const head = (status: OrderStatus) => ({ order: { status }, revision: 1, join: {} }) as unknown as Head;

function filled(capacity: number, status: OrderStatus, count: number): HeadCache {
  const cache = new HeadCache(capacity);
  for (let i = 0; i < count; i += 1) cache.set(`account:${status}-${i}`, head(status));
  return cache;
}

function slotOf(cache: HeadCache, key: string): Slot {
  const slot = cache.slot(key);
  if (slot === undefined) throw new Error(`no ${key}`);
  return slot;
}

describe('the head cache', () => {
  it('gives closed orders a fifth of the room, so that they cannot crowd out open ones', () => {
    const cache = filled(100, 'new', 60);
    for (let i = 0; i < 1000; i += 1) cache.set(`account:filled-${i}`, head('filled'));
    cache.trim();
    expect(cache.size).toBe(80);
    expect(cache.slot('account:new-0')).toBeDefined();
    expect(cache.slot('account:filled-979')).toBeUndefined();
    expect(cache.slot('account:filled-980')).toBeDefined();
  });

  it('lets the least recently written open order go first', () => {
    const cache = filled(10, 'new', 10);
    cache.set('account:new-0', head('partially_filled'));
    cache.set('account:one-more', head('new'));
    cache.trim();
    expect(cache.slot('account:new-1')).toBeUndefined();
    expect(cache.slot('account:new-0')).toBeDefined();
  });

  it('holds an order once, also when it closes', () => {
    const cache = filled(10, 'new', 1);
    cache.set('account:new-0', head('canceled'));
    expect(cache.size).toBe(1);
    expect(cache.get('account:new-0')?.order.status).toBe('canceled');
    cache.evict(slotOf(cache, 'account:new-0'));
    expect(cache.slot('account:new-0')).toBeUndefined();
  });

  it('keeps pinned heads, open or closed, beyond its capacity', () => {
    const cache = filled(5, 'filled', 20);
    cache.pin(slotOf(cache, 'account:filled-0'));
    cache.trim();
    expect(cache.slot('account:filled-0')).toBeDefined();
    cache.unpin(slotOf(cache, 'account:filled-0'));
    cache.set('account:filled-20', head('filled'));
    cache.trim();
    expect(cache.slot('account:filled-0')).toBeUndefined();
  });

  it('keeps the pins of an order that closes', () => {
    const cache = filled(5, 'new', 1);
    cache.pin(slotOf(cache, 'account:new-0'));
    cache.set('account:new-0', head('filled'));
    for (let i = 0; i < 20; i += 1) cache.set(`account:filled-${i}`, head('filled'));
    cache.trim();
    expect(cache.slot('account:new-0')).toBeDefined();
  });

  it('keeps the place of an order for as long as it is in memory, open or closed', () => {
    const cache = filled(10, 'new', 10);
    const slot = cache.set('account:new-0', head('partially_filled'), slotOf(cache, 'account:new-0'));
    expect(cache.set('account:new-0', head('filled'), slot)).toBe(slot);
    expect(slotOf(cache, 'account:new-0')).toBe(slot);
    expect(cache.set('account:new-0', head('new'))).toBe(slot);
    expect(cache.size).toBe(10);
    cache.evict(slot);
    expect(cache.set('account:new-0', head('new'))).not.toBe(slot);
  });
});
