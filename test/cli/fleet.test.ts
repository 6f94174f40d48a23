import { describe, expect, it } from 'vitest';
import type { FleetDocument } from '../../src/contract/fleet-answer.ts';
import { restServer, runAgainst } from '../support/rest/rest-answers.ts';
import { json } from '../support/servers/http-server.ts';

const lane: FleetDocument['lanes'][number] = {
  lane: 0,
  state: 'live',
  holder: 'desk-1-4fae12c9',
  since: '2026-11-23T04:00:00.000Z',
  weight: 0,
  drained: true,
  unhealthy: null,
  shards: [3],
  address: null,
  version: '1',
};
const fleet: FleetDocument = {
  at: '2026-11-23T04:01:00.000Z',
  verdict: '16 shards, 2 processes, all held',
  allHeld: true,
  shards: 16,
  free: [],
  pinned: [1, 3],
  lanes: [lane, { ...lane, lane: 1, holder: 'desk-2-a01b77d2', drained: false, weight: 1, shards: [0, 1, 2] }],
};

const answering = () => restServer((_request, response) => json(response, 200, fleet));
const reason = ['--reason', 'a new kernel'];

describe('fleet drain, undrain, pin and unpin', () => {
  it.each([
    ['drain', 'desk-1-4fae12c9'],
    ['undrain', '4fae12c9'],
    ['drain', '…4fae12c9'],
  ])('%s %s asks for the process of that name, and shows the fleet', async (verb, name) => {
    const rest = await answering();
    const { code, out } = await runAgainst(rest.url, ['fleet', verb, name, ...reason]);
    expect(rest.received.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /v1/fleet',
      `POST /v1/fleet/instances/desk-1-4fae12c9/${verb}`,
    ]);
    expect(JSON.parse(rest.received[1]?.body ?? '')).toEqual({ reason: 'a new kernel' });
    expect([code, out.split('\n')[2]]).toEqual([0, expect.stringMatching(/^0 +desk-1-4fae12c9 .* drained$/)]);
  });

  it('says of a drained process that it keeps its shards while no other takes them', async () => {
    const alone = () => restServer((_request, response) => json(response, 200, { ...fleet, lanes: [lane] }));
    const drained = await runAgainst((await alone()).url, ['fleet', 'drain', 'desk-1-4fae12c9', ...reason]);
    expect(drained.err).toBe('no other process takes shards: it keeps its own until one does\n');
    const undrained = await runAgainst((await alone()).url, ['fleet', 'undrain', 'desk-1-4fae12c9', ...reason]);
    const together = await runAgainst((await answering()).url, ['fleet', 'drain', 'desk-1-4fae12c9', ...reason]);
    expect([drained.code, undrained.err, together.err]).toEqual([0, '', '']);
  });

  it.each(['pin', 'unpin'])('%s asks for the shard, and the pinned ones are shown', async (verb) => {
    const rest = await answering();
    const { code, out } = await runAgainst(rest.url, ['fleet', verb, '3', ...reason]);
    expect(rest.received.map(({ method, path }) => `${method} ${path}`)).toEqual([`POST /v1/fleet/shards/3/${verb}`]);
    expect([code, out.split('\n').at(-2)]).toEqual([0, 'pinned: 1,3']);
  });

  it('show an unhealthy process, and why it is so', async () => {
    const unhealthy = { ...lane, drained: false, unhealthy: 'relay_stuck' as const };
    const rest = await restServer((_request, response) => json(response, 200, { ...fleet, lanes: [unhealthy] }));
    const { out } = await runAgainst(rest.url, ['fleet', 'pin', '3', ...reason]);
    const lines = out.split('\n');
    expect(lines[2]).toMatch(/ unhealthy$/);
    expect(lines[3]).toBe('lane 0 is unhealthy: Kafka acknowledges none of its rows');
  });

  it('print the answer as JSON with --json', async () => {
    const rest = await answering();
    const { out } = await runAgainst(rest.url, ['fleet', 'drain', 'a01b77d2', ...reason, '--json']);
    expect(JSON.parse(out)).toEqual(fleet);
  });

  it.each([
    ['desk-3', 'no process has the name desk-3'],
    ['c12', 'c12 is the end of several names'],
  ])('ask for nothing when %s names no process or several, and name those that live', async (name, message) => {
    const rest = await restServer((_request, response) =>
      json(response, 200, {
        ...fleet,
        lanes: [lane, { ...lane, lane: 1, holder: 'desk-8-00000c12' }, { ...lane, lane: 2, holder: 'x-c12' }],
      }),
    );
    const { code, err } = await runAgainst(rest.url, ['fleet', 'drain', name, ...reason]);
    expect(err).toContain(message);
    expect([code, rest.received.length]).toEqual([64, 1]);
    expect(err).toContain('desk-1-4fae12c9');
  });
});
