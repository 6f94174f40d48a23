import { expect, it } from 'vitest';
import { freePort } from '../../src/demo/devstack/free-port.ts';
import { differences, parseTruth } from '../../src/demo/proof/prove-run.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import type { Random } from '../../src/runtime/random.ts';
import { platformSettings, type SandboxDescription } from '../../src/sandbox/describe-sandbox.ts';
import { CommandLoad } from '../support/commands/command-load.ts';
import { expectCommandsTrue, quickCommandSettings } from '../support/commands/commands-under-kill-nine.ts';
import { ask, control, controlLines, runningSandbox } from '../support/platform/sandbox.ts';
import { RestCaller } from '../support/rest/rest-caller.ts';
import { eventually } from '../support/runs/poll.ts';
import { nothingWrong, type RunningService, World } from '../support/runs/service-under-test.ts';
import { printedRandom } from '../support/runs/test-seed.ts';
import { expectStateTopicWhole } from './parts/expect-state-topic.ts';

/**
 * `npm run test:deep` takes a bit more than a minute;
 * `TIDEMARK_WIRE_MINUTES=10` is the long run by hand.
 */
const minutes = Number(process.env['TIDEMARK_WIRE_MINUTES'] ?? 1.2);
/** Changes a second of the market. */
const rate = Number(process.env['TIDEMARK_WIRE_RATE'] ?? 60);
const atOnce = 4;
const everyMs = 1_500;
const fewestCommands = 20;

const words = {
  ...{ nulls: 0.4, extras: 0.3, numbers: 0.5, padded: 0.5 },
  ...{ contracts: true, longAverages: true, coarse: true, fillWords: true, ids: true },
};
/** The root of five letters and its digit make option symbols of 21 characters. */
const renamed = { AAPL: 'AAPLE1', MSFT: 'MSFTX1', KO: 'KOLA', BRKB: 'BRKB1', 'BRK.B': 'BRK/B' };

/** What a platform does with its orders and accounts that we did not expect, beside its words. */
class Surprises {
  /** Orders whose end was taken back: they are open at the platform. */
  readonly takenBack: string[] = [];
  private readonly description: SandboxDescription;
  private readonly accounts: readonly { readonly id: string; readonly predictions: boolean }[];
  private readonly random: Random;

  constructor(
    description: SandboxDescription,
    accounts: readonly { readonly id: string; readonly predictions: boolean }[],
    random: Random,
  ) {
    this.description = description;
    this.accounts = accounts;
    this.random = random;
  }

  /** An order of somebody else's expires, which readers see; later it never did. */
  async takeEndBack(): Promise<void> {
    const account = this.accounts[Math.floor(this.random.next() * this.accounts.length)];
    if (account === undefined) throw new Error('no accounts');
    const stream = account.predictions && this.random.next() < 0.5 ? 'prediction' : 'account';
    const made = await control(this.description, '/orders', { stream, accountId: account.id });
    expect(made.status, made.text).toBe(200);
    const orderId: string = made.json.orderId ?? made.json.ordId;
    const move = async (action: string) =>
      expect(
        (await control(this.description, `/orders/${encodeURIComponent(orderId)}`, { action })).status,
        action,
      ).toBe(200);
    await move(this.random.next() < 0.5 ? 'expire' : 'cancel');
    // Half of them only after an audit saw the end.
    if (this.random.next() < 0.5) await systemClock.sleep(2_500);
    await move('take_back');
    this.takenBack.push(orderId);
  }

  account(id: string, change: object): Promise<unknown> {
    return control(this.description, `/accounts/${id}`, change);
  }
}

async function liveAt(service: RunningService): Promise<Set<string>> {
  const { accounts } = await service.status();
  const rows: readonly { account: string; state: string }[] = accounts;
  const notLive = new Set(
    rows.filter(({ state }) => !['live', 'not_enrolled'].includes(state)).map(({ account }) => account),
  );
  return new Set(rows.map(({ account }) => account).filter((account) => !notLive.has(account)));
}

async function expectAllLive(services: readonly RunningService[], ids: readonly string[]): Promise<void> {
  await eventually(
    async () => {
      const live = await Promise.all(services.map(liveAt));
      expect(ids.filter((id) => !live.some((accounts) => accounts.has(id)))).toEqual([]);
    },
    { deadlineMs: 60_000, everyMs: 250 },
  );
}

/** Also those of an account that has left the list, which a proof by the list would not look at. */
async function expectOrdersOf(world: World, description: SandboxDescription, accountId: string): Promise<void> {
  await eventually(
    async () => {
      const truths = (await ask(`${description.control}/state?accountId=${accountId}`)).text
        .trim()
        .split('\n')
        .map(parseTruth);
      const rows = await world.query<{ key: string; state: never; version: string | null }>(
        `select order_id as key, state, source_version::text as version from current_orders where account_id = $1`,
        [accountId],
      );
      const stored = new Map(rows.map(({ key, state, version }) => [key, { order: state, sourceVersion: version }]));
      const wrong = truths.flatMap((truth) => {
        const found = stored.get(truth.orderId);
        const fields = found === undefined ? ['not stored'] : differences(truth, found);
        return fields.length === 0 ? [] : [`${truth.orderId}: ${fields.join(', ')}`];
      });
      expect(wrong).toEqual([]);
    },
    { deadlineMs: 60_000, everyMs: 500 },
  );
}

it(
  'a platform that says all it says in odd words, to three processes under load: every account is live, no order is a dead letter, every command is resolved, nothing is lost, doubled or out of order',
  async () => {
    const random = printedRandom('words');
    const { description } = await runningSandbox({
      accounts: 12,
      market: { seed: Math.floor(random.next() * 2 ** 31), rate, openOrders: 50, knownOrders: 80 },
    });
    await control(description, '/faults', { wire: words, writes: { outcome_unknown: 0.03 }, lateMs: [50, 2_000] });
    const accounts = description.users.filter(({ username }) => username !== 'carol').flatMap((user) => user.accounts);
    const surprises = new Surprises(description, accounts, random);
    const [restricted = '', leaver = '', , late = ''] = accounts.map(({ id }) => id);
    await surprises.account(restricted, { status: 'RESTRICTED' });

    const world = await World.create({ platform: platformSettings(description), env: quickCommandSettings });
    const ports = [await freePort(), await freePort(), await freePort()];
    const services = await Promise.all(ports.map((port) => world.serve({ TIDEMARK_HTTP_PORT: String(port) })));
    await expectAllLive(
      services,
      accounts.map(({ id }) => id),
    );

    const rest = new RestCaller(ports.map((port) => `http://127.0.0.1:${port}`));
    const load = new CommandLoad({
      rest,
      random,
      accounts: accounts.filter(({ id }) => ![restricted, leaver].includes(id)),
    });
    const endsMs = systemClock.monotonicMs() + minutes * 60_000;
    const over = () => systemClock.monotonicMs() > endsMs;
    const surprising = async () => {
      for (let turn = 0; !over(); turn += 1) {
        await systemClock.sleep(everyMs);
        if (turn === 4) await surprises.account(leaver, { listed: false });
        if (turn === 6) await surprises.account(late, { status: 'RESTRICTED' });
        if (turn === 8) await control(description, '/faults', { wire: { renamed } });
        if (turn % 20 === 16) await surprises.account(late, { status: turn % 40 === 16 ? 'OPEN' : 'RESTRICTED' });
        await surprises.takeEndBack();
      }
    };
    await Promise.all([load.run(over, atOnce), surprising()]);

    await control(description, '/faults', { writes: { outcome_unknown: 0 } });
    await control(description, '/rate', { rate: 0 });
    await expectAllLive(
      services,
      accounts.map(({ id }) => id),
    );
    await expectOrdersOf(world, description, leaver);
    await surprises.account(leaver, { listed: true });
    await expectCommandsTrue({ world, description, rest, load, commands: fewestCommands });
    expect(await world.resolvedProof(description)).toMatchObject(nothingWrong);
    await expectStateTopicWhole(world);
    expect(await world.query('select stream, reason, detail, raw from dead_letters')).toEqual([]);
    // Contracts are padded in half of all rows to the end: a record has their one form, so that
    // the spelling alone can make no update.
    expect(await world.query(`select payload from order_updates where payload ~ '"symbol":"[^"]* ' limit 3`)).toEqual(
      [],
    );
    const takenBack = await world.query(
      "select order_id from current_orders where order_id = any($1::text[]) and state ->> 'status' in ('new', 'partially_filled')",
      [surprises.takenBack],
    );
    expect(takenBack).toHaveLength(surprises.takenBack.length);
    const open = await world.query<{ symbol: string }>(
      "select distinct symbol from orders where is_open and stream = 'account' order by symbol",
    );
    const symbols = open.map(({ symbol }) => symbol);
    for (const former of Object.keys(renamed)) expect(symbols).not.toContain(former);
    process.stdout.write(`open: ${symbols.join(' ')}\n`);
    const kinds = (await controlLines(description, '/ledger?kind=decision')).length;
    process.stdout.write(
      `${minutes} min: ${load.acknowledged.size} commands (${kinds} decided by the platform), ${surprises.takenBack.length} ends taken back, declined ${JSON.stringify([...load.declined])}\n`,
    );
    process.stdout.write(`${JSON.stringify(await world.proof(description))}\n`);
    const fatal = services.flatMap(({ process }) => process.log()).filter(({ level }) => level === 'fatal');
    expect(fatal).toEqual([]);
    for (const service of services) expect(await service.stop()).toBe(0);
  },
  (minutes + 10) * 60_000,
);
