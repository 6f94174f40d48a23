import { describe, expect, it } from 'vitest';
import type { SocketEnd } from '../../../src/service/sources/socket.ts';
import { endOfSocket } from '../../../src/service/sources/socket.ts';
import { platformVenue } from '../../../src/venue/platform/platform-venue.ts';

describe('endOfSocket', () => {
  it.each<[SocketEnd, string]>([
    [{ kind: 'refused', status: 401 }, 'unauthorized'],
    [{ kind: 'refused', status: 403 }, 'forbidden'],
    [{ kind: 'refused', status: 200 }, 'refused'],
    [{ kind: 'closed', code: 4401, reason: 'x' }, 'unauthorized'],
    [{ kind: 'closed', code: 4403, reason: '' }, 'forbidden'],
    [{ kind: 'closed', code: 4429, reason: '' }, 'slow_consumer'],
    [{ kind: 'closed', code: 1001, reason: '' }, 'restarting'],
    [{ kind: 'closed', code: 1012, reason: '' }, 'restarting'],
    [{ kind: 'closed', code: 1006, reason: '' }, 'closed'],
    [{ kind: 'closed', code: 4999, reason: '' }, 'closed'],
    [{ kind: 'failed', code: 'binary', message: '' }, 'binary'],
  ])('names %j as %s: a label of few values, whatever the platform invents', (end, reason) => {
    expect(endOfSocket(end, platformVenue.account.protocol.closeReasons).reason).toBe(reason);
  });
});
