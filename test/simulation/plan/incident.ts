import { below, happens, oneOf } from '../../../src/sandbox/market/instruments.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import type { Incident } from './fault-plan.ts';

const hourMs = 3_600_000;

/** Makes one thing happen, now. What lasts ends by itself; `healWorld` ends it sooner. */
export function happen(incident: Incident, world: SimulatedWorld): void {
  const { random, trace } = world;
  trace.add('world', incident);
  const slot = below(random, world.slots.length);
  toProcess(incident, world, slot);
  toPlatform(incident, world);
  toNeighbours(incident, world);
}

function toProcess(incident: Incident, world: SimulatedWorld, slot: number): void {
  const { random, clock, trace } = world;
  const service = world.slots[slot];
  switch (incident) {
    case 'crash':
      world.crash(slot);
      clock.after(random.next() * 3000, () => world.startIn(slot));
      return;
    case 'freeze': {
      service?.host.freeze();
      const forMs = oneOf(random, [300, 2500, 7000, 12_000]);
      clock.after(forMs, () => {
        if (service?.host.frozen === true) trace.add(service.host.name, 'thaws');
        service?.host.thaw(random);
      });
      return;
    }
    case 'stop':
      if (service === undefined || service.host.frozen) return;
      service.stop();
      // Who does not end within the deadline of its drain is killed, as an orchestrator does.
      clock.after(11_000, () => {
        if (world.slots[slot] === service) endedBySignal(world, slot);
        clock.after(random.next() * 2000, () => world.startIn(slot));
      });
      return;
    case 'step_service_clock':
      if (service === undefined) return;
      service.host.wallOffsetMs += happens(random, 0.5) ? hourMs : -hourMs;
      world.clocksApartMs += hourMs;
      return;
    case 'renew_tokens':
      service?.credentials.renewAhead();
      return;
  }
}

function endedBySignal(world: SimulatedWorld, slot: number): void {
  const service = world.slots[slot];
  if (service?.exitCode === undefined) world.crash(slot);
  else world.leave(slot);
}

function toPlatform(incident: Incident, world: SimulatedWorld): void {
  const { random, clock, platform } = world;
  const { stream, http, entry, tokens } = platform;
  switch (incident) {
    case 'cut':
      stream.end({ kind: 'closed', code: 1006, reason: '' }, false, 0.5);
      return;
    case 'reset':
      stream.end({ kind: 'closed', code: 1006, reason: '' }, true, 0.5);
      return;
    case 'silence':
      stream.silence(0.5);
      return;
    case 'restart_platform':
      stream.end({ kind: 'closed', code: 1012, reason: 'restarting' }, happens(random, 0.5));
      return;
    case 'burst':
      for (let i = 0; i < 60; i += 1) platform.step();
      return;
    case 'correct':
      platform.correct();
      return;
    case 'gap':
      platform.gap(random.next() * 4000);
      return;
    case 'lose_store':
      platform.loseStore();
      return;
    case 'revoke_tokens':
      tokens.revokeAll();
      clock.after(random.next() * 3000, () => stream.endUnauthorized());
      return;
    case 'login_required':
      tokens.loginRequired = true;
      tokens.revokeAll();
      stream.endUnauthorized();
      clock.after(random.next() * 8000, () => {
        tokens.loginRequired = false;
      });
      return;
    case 'platform_down':
      stream.down = http.down = entry.down = true;
      stream.end({ kind: 'closed', code: 1001, reason: 'going away' }, happens(random, 0.5));
      clock.after(random.next() * 6000, () => {
        stream.down = http.down = entry.down = false;
      });
      return;
    case 'toggle_account':
      platform.toggleAccount();
      return;
  }
}

function toNeighbours(incident: Incident, world: SimulatedWorld): void {
  const { random, clock, database, databaseHost, broker } = world;
  switch (incident) {
    case 'database_down': {
      database.down = true;
      clock.after(random.next() * 8000, () => {
        database.down = false;
      });
      return;
    }
    case 'broker_down':
      broker.down = true;
      clock.after(random.next() * 8000, () => {
        broker.down = false;
      });
      return;
    case 'step_database_clock':
      world.databaseClockWasSet = true;
      databaseHost.wallOffsetMs += happens(random, 0.5) ? hourMs : -hourMs;
      return;
  }
}
