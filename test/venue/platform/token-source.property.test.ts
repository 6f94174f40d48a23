import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { MemoryTokenStore, type TokenStore } from '../../../src/runtime/token-store.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import type { Http } from '../../../src/venue/http.ts';
import { RefreshingTokenSource } from '../../../src/venue/platform/token-source.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

/**
 * - `at_once`, `after_grace`: a new token ends the ones before.
 * - `at_refresh`: so does a new token of another login of this client.
 * - `same`: while a token has life left it is given again. `never`: a token lives to its end.
 */
const habits = ['at_once', 'after_grace', 'at_refresh', 'same', 'never'] as const;
const graceMs = 3_000;

interface Platform {
  readonly habit: (typeof habits)[number];
  readonly lifeSeconds: number;
  readonly answerMs: number;
}

interface Issued {
  readonly text: string;
  endsMs: number;
}

/** A token endpoint with a habit, and the hosts that take its tokens. */
class ScriptedIssuer {
  asked = 0;
  private readonly issued: Issued[] = [];
  private readonly clock: VirtualClock;
  private readonly platform: Platform;

  constructor(clock: VirtualClock, platform: Platform) {
    this.clock = clock;
    this.platform = platform;
  }

  readonly http: Http = {
    request: async () => {
      this.asked += 1;
      const { text, endsMs } = this.issue();
      const left = Math.ceil((endsMs - this.clock.monotonicMs()) / 1000);
      await this.clock.sleep(this.platform.answerMs);
      const body = { access_token: text, token_type: 'Bearer', expires_in: left };
      return {
        ...{ kind: 'answered', status: 200, headers: { 'content-type': 'application/json' } },
        text: JSON.stringify(body),
      };
    },
    close: async () => undefined,
  };

  takes(text: string): boolean {
    const found = this.issued.find((each) => each.text === text);
    return found !== undefined && this.clock.monotonicMs() < found.endsMs;
  }

  /** Before its time: by the platform itself, or since another login of the client got a token. */
  end(afterMs = 0): void {
    for (const each of this.issued) each.endsMs = Math.min(each.endsMs, this.clock.monotonicMs() + afterMs);
  }

  private issue(): Issued {
    const nowMs = this.clock.monotonicMs();
    const { habit, lifeSeconds } = this.platform;
    const newest = this.issued.at(-1);
    if (habit === 'same' && newest !== undefined && newest.endsMs - nowMs > 1_000) return newest;
    if (habit === 'at_once' || habit === 'at_refresh') this.end();
    if (habit === 'after_grace') this.end(graceMs);
    const one = { text: `t${this.issued.length + 1}`, endsMs: nowMs + lifeSeconds * 1000 };
    this.issued.push(one);
    return one;
  }
}

/** A process: its own wall clock, and what it has sent to which host since the host refused it. */
class Process {
  /** Host and token → how often it was sent after its refusal was reported. */
  readonly again = new Map<string, number>();
  readonly source: RefreshingTokenSource;
  private readonly issuer: ScriptedIssuer;

  constructor(
    parts: { clock: VirtualClock; store: MemoryTokenStore; issuer: ScriptedIssuer },
    number: number,
    skewMs: number,
  ) {
    const { clock, store, issuer } = parts;
    this.issuer = issuer;
    // A store keeps times by its own clock (`PostgresTokenStore`).
    const view: TokenStore = {
      claim: (...call) => store.claim(...call),
      unclaim: (...call) => store.unclaim(...call),
      load: async (name) => {
        const stored = await store.load(name);
        return stored && { ...stored, expiresAtMs: stored.expiresAtMs + skewMs };
      },
      save: (name, replaces, token) =>
        store.save(name, replaces, { ...token, expiresAtMs: token.expiresAtMs - skewMs }),
    };
    const own: Clock = Object.create(clock, { nowMs: { value: () => clock.nowMs() + skewMs } });
    this.source = new RefreshingTokenSource(
      {
        http: issuer.http,
        clock: own,
        store: view,
        random: seededRandom(number),
        log: silentLog,
        metrics: createMetrics().platform,
      },
      {
        ...{ name: 'client', holder: `p${number}`, baseUrl: 'http://platform', grant: 'client_credentials' },
        credential: { clientId: 'id', clientSecret: new Secret('hush') },
      },
    );
  }

  /** One request as reads make it. True: it was answered. */
  async request(host: string): Promise<boolean> {
    const url = `http://${host}/v1/orders`;
    const had = await this.source.get(url);
    if (!had.ok) return this.unavailable(had.error.code);
    if (this.send(host, had.token)) return true;
    const next = await this.source.renew(had.token.generation, url);
    if (!next.ok) return this.unavailable(next.error.code);
    return this.send(host, next.token);
  }

  private send(host: string, { secret, generation }: { secret: Secret; generation: number }): boolean {
    const key = `${host} ${secret.reveal()}`;
    const refusedBefore = this.again.get(key);
    if (refusedBefore !== undefined) this.again.set(key, refusedBefore + 1);
    if (!this.issuer.takes(secret.reveal())) {
      this.again.set(key, this.again.get(key) ?? 0);
      return false;
    }
    this.source.taken(generation, `http://${host}/v1/orders`);
    return true;
  }

  /** No person has to sign in, whatever the platform does with its tokens. */
  private unavailable(code: string | undefined): false {
    expect(code).toBe('TOKEN_UNAVAILABLE');
    return false;
  }
}

/** An answer that takes most of a token's life leaves none of it, whatever we do. */
const platforms = fc
  .tuple(fc.constantFrom(...habits), fc.constantFrom([5, 5], [5, 900], [60, 5], [60, 3_000], [3600, 5], [3600, 3_000]))
  .map(([habit, [lifeSeconds = 0, answerMs = 0]]): Platform => ({ habit, lifeSeconds, answerMs }));

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('request' as const), process: fc.nat(2), staging: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(50, 1_000, 30_000, 600_000) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('end' as const) }) },
);

const skews = fc.constantFrom(0, 3_600_000, -3_600_000, 40_000);

it('never sends what a host refused again but thrice in a rest, asks for few, and asks no person', async () => {
  await fc.assert(
    fc.asyncProperty(
      platforms,
      fc.array(step, { minLength: 5, maxLength: 40 }),
      fc.tuple(skews, skews, skews),
      async (platform, steps, skewOf) => {
        const clock = new VirtualClock(Date.parse('2026-11-21T12:00:00Z'));
        const issuer = new ScriptedIssuer(clock, platform);
        const store = new MemoryTokenStore({ clock });
        const processes = skewOf.map((skewMs, number) => new Process({ clock, store, issuer }, number, skewMs));
        for (const { source } of processes) await source.start();
        let passedMs = 0;
        let ended = 0;
        const pass = async (ms: number) => {
          passedMs += ms;
          await clock.advance(ms);
        };
        const request = async (process: Process | undefined, host: string) => {
          let answered: boolean | undefined;
          void process?.request(host).then((result) => {
            answered = result;
          });
          for (let waited = 0; answered === undefined && waited < 60_000; waited += 100) await pass(100);
          return answered;
        };
        for (const each of steps) {
          if (each.kind === 'pass') await pass(each.ms);
          else if (each.kind === 'end') {
            ended += 1;
            issuer.end();
          } else await request(processes[each.process], each.staging ? 'staging' : 'platform');
        }
        for (const process of processes) {
          for (const [token, times] of process.again) {
            // Where the platform gives the same one again it is tried again, once in each rest.
            if (platform.habit !== 'same') expect(times, token).toBeLessThanOrEqual(3);
          }
        }
        // One for each life, for each that ended early, and for each process in its first moments.
        const lives = passedMs / Math.max(800, platform.lifeSeconds * 800 - platform.answerMs);
        expect(issuer.asked).toBeLessThanOrEqual(3 * (2 + ended + lives));
        // What the platform did is over: each process is answered again, after a rest at most.
        for (const process of processes) {
          let answered: boolean | undefined;
          for (let tries = 0; tries < 20 && answered !== true; tries += 1) {
            await pass(5_000);
            answered = await request(process, 'platform');
          }
          expect(answered).toBe(true);
        }
        for (const { source } of processes) await source.drain();
      },
    ),
    { numRuns: 60 },
  );
}, 120_000);
