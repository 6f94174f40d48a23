import { expect } from 'vitest';
import { readCommandTruth } from '../../../src/demo/proof/command-truth.ts';
import { type JournaledCommand, journaledCommands, judgeCommands } from '../../../src/demo/proof/judge-commands.ts';
import type { Random } from '../../../src/runtime/random.ts';
import { platformSettings, type SandboxDescription } from '../../../src/sandbox/describe-sandbox.ts';
import type { FaultOrder } from '../../../src/sandbox/faults/fault-shapes.ts';
import { quickCommandSettings } from '../../support/commands/commands-under-kill-nine.ts';
import { LossyRest } from '../../support/commands/lossy-rest.ts';
import { control, controlLines, runningSandbox } from '../../support/platform/sandbox.ts';
import { McpProcess } from '../../support/rest/mcp-process.ts';
import { McpRig, type ToolResult } from '../../support/rest/mcp-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { World } from '../../support/runs/service-under-test.ts';
import { printedRandom } from '../../support/runs/test-seed.ts';

/** What writes meet at the platform, besides what their requests meet on the way to the service. */
const writes: FaultOrder = {
  writes: { outcome_unknown: 0.06, status_504: 0.02, status_500: 0.02, torn: 0.02, reset: 0.02, wrong_order: 0.01 },
  lateMs: [50, 3000],
};
const atOnce = 12;
const restartShare = 0.015;
const restingOrders = 20;
const placed = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '1', timeInForce: 'GTC' };

/** A program that serves the tools: in this process, or one of its own that is killed with -9. */
class Assistant {
  restarts = 0;
  private rig: Promise<McpRig>;
  private readonly begin: () => Promise<McpRig>;

  constructor(begin: () => Promise<McpRig>) {
    this.begin = begin;
    this.rig = begin();
  }

  async restart(end: (rig: McpRig) => Promise<void> | void = (rig) => rig.stop()): Promise<void> {
    const before = await this.rig;
    this.restarts += 1;
    await end(before);
    this.rig = this.begin();
    await this.rig;
  }

  async call(name: string, input: Readonly<Record<string, unknown>>, timeoutMs: number): Promise<ToolResult> {
    return (await this.rig).call(name, input, timeoutMs);
  }
}

/** An order that rests before the faults begin. */
interface Resting {
  readonly orderId: string;
  readonly accountId: string;
}

interface Told {
  /** Its own, of all commands: the price of a place, or the total of a replace. */
  readonly mark: string;
  committed: boolean;
  /** Results in the order in which they were answered. */
  readonly results: string[];
}

/** Calls of `commit` and `receipt` under faults, and what they were told. */
class FaultyCalls {
  calls = 0;
  commits = 0;
  timeouts = 0;
  readonly told: Told[] = [];
  readonly resting: Resting[] = [];
  private readonly random: Random;

  constructor(random: Random) {
    this.random = random;
  }

  /** Orders on a prediction market, whose totals are changed later. */
  async rest(rig: McpRig, description: SandboxDescription): Promise<void> {
    const [symbol] = description.predictionSymbols;
    const terms = { symbol, outcome: 'YES', side: 'buy', orderType: 'limit', timeInForce: 'gtc', price: '0.01' };
    for (let quantity = 100; this.resting.length < restingOrders; quantity += 1) {
      const accountId = quantity % 2 === 0 ? 'SIM-1001' : 'SIM-1003';
      const order = { ...terms, accountId, quantity: String(quantity) };
      const { previewId } = (await rig.call('preview_place_prediction', order)).data;
      const { data } = await rig.call('commit', { previewId, waitSeconds: 20 });
      this.resting.push({ orderId: data.command.orderId, accountId });
    }
  }

  /**
   * One order: a preview, then several calls about it, some at
   * once, some that the client gives up early.
   */
  async order(assistant: Assistant, accountId: string): Promise<void> {
    const replaced =
      this.random.next() < 0.3 ? this.resting[Math.floor(this.random.next() * restingOrders)] : undefined;
    const price = (1 + this.told.length / 100).toFixed(2);
    const quantity = String(1_000 + this.told.length);
    const told: Told = { mark: replaced === undefined ? price : quantity, committed: false, results: [] };
    this.told.push(told);
    const [tool, input] =
      replaced === undefined
        ? ['preview_place', { ...placed, accountId, price }]
        : ['preview_replace', { ...replaced, stream: 'prediction', quantity }];
    const preview = await assistant.call(tool, input, 20_000).catch(() => undefined);
    // One in twenty is never committed, and must never be at the platform.
    if (preview === undefined || preview.isError || this.random.next() < 0.05) return;
    told.committed = true;
    const { previewId } = preview.data;
    for (let rounds = 3 + Math.floor(this.random.next() * 4); rounds > 0; rounds -= 1) {
      if (this.random.next() < restartShare) await assistant.restart();
      const draw = this.random.next();
      if (draw < 0.15) await this.receipt(assistant, told, previewId);
      else await Promise.all(Array.from({ length: draw < 0.4 ? 2 : 1 }, () => this.commit(assistant, told, previewId)));
    }
  }

  private commit(assistant: Assistant, told: Told, previewId: string): Promise<void> {
    this.commits += 1;
    const waitSeconds = this.random.next() < 0.8 ? 0 : 1;
    return this.ask(told, () => assistant.call('commit', { previewId, waitSeconds }, 20 + this.random.next() * 1_500));
  }

  private receipt(assistant: Assistant, told: Told, id: string): Promise<void> {
    return this.ask(told, () => assistant.call('receipt', { id }, 2_000));
  }

  private async ask({ results }: Told, work: () => Promise<ToolResult>): Promise<void> {
    this.calls += 1;
    const answer = await work().catch(() => undefined);
    if (answer === undefined) this.timeouts += 1;
    results.push(
      answer === undefined ? 'no answer' : answer.isError ? String(answer.data?.code) : String(answer.data.result),
    );
  }
}

/**
 * So many calls of `commit` and `receipt`: by the ledger of the platform, no preview was sent
 * twice, and none that was not committed.
 */
export async function assistantUnderFaults({
  calls,
  kills,
}: {
  readonly calls: number;
  readonly kills: number;
}): Promise<void> {
  const random = printedRandom('faulty-assistant');
  const { description } = await runningSandbox({ market: { rate: 0, openOrders: 5, knownOrders: 10 } });
  const world = await World.create({ platform: platformSettings(description), env: quickCommandSettings });
  const service = await world.serve();
  await service.waitLive();
  const rest = await LossyRest.start(await service.restAddress(), random);
  const load = new FaultyCalls(random);
  await load.rest(await McpRig.start({ url: await service.restAddress() }), description);
  await control(description, '/faults', writes);

  const reached = () => eventually(() => McpRig.start({ url: rest.url }), { deadlineMs: 60_000, everyMs: 50 });
  const inMemory = Array.from({ length: 3 }, () => new Assistant(reached));
  const processes = new ProcessAssistant({ TIDEMARK_URL: rest.url });
  const accounts = description.users.filter(({ username }) => username !== 'carol').flatMap((user) => user.accounts);
  const work = async (worker: number) => {
    const assistant = worker === 0 ? processes.assistant : (inMemory[worker % inMemory.length] as Assistant);
    for (let turn = 1; load.calls < calls || (worker === 0 && processes.kills < kills); turn += 1) {
      const account = accounts[Math.floor(random.next() * accounts.length)];
      const ordering = load.order(assistant, account?.id ?? '');
      // Killed while calls are under way.
      if (worker === 0 && turn % 5 === 0 && processes.kills < kills) await processes.kill9();
      await ordering;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, (_, worker) => work(worker)));
  await control(description, '/heal');
  const restarts = inMemory.reduce((sum, { restarts: count }) => sum + count, 0);
  await expectNoneTwice({ world, description, load });
  const met = [...rest.met].map(([fate, count]) => `${fate} ${count}`).join(', ');
  process.stdout.write(
    `${load.calls} calls for ${load.told.length} previews, ${load.commits} of them commits, ${load.timeouts} without an answer; ${restarts} restarts, ${processes.kills} kills; ${met}\n`,
  );
  expect(Math.min(...rest.met.values()), 'every fault was met').toBeGreaterThan(0);
  expect(restarts).toBeGreaterThan(0);
  expect(await service.stop()).toBe(0);
}

/** A process of its own, killed with -9 while calls are under way. */
class ProcessAssistant {
  kills = 0;
  readonly assistant: Assistant;
  private process: McpProcess | undefined;

  constructor(env: Readonly<Record<string, string>>) {
    this.assistant = new Assistant(async () => {
      this.process = await eventually(() => McpProcess.start(env), { deadlineMs: 120_000, everyMs: 100 });
      return this.process.rig;
    });
  }

  async kill9(): Promise<void> {
    await this.assistant.restart(() => this.process?.kill9());
    this.kills += 1;
  }
}

interface Sent {
  readonly world: World;
  readonly description: SandboxDescription;
  readonly load: FaultyCalls;
}

async function expectNoneTwice({ world, description, load }: Sent): Promise<void> {
  await eventually(
    async () => {
      const rows = await world.query<JournaledCommand>(journaledCommands);
      const faults = judgeCommands(rows, await readCommandTruth(fetch, description.control));
      if (faults.length > 0) throw new Error(`${faults.length} faults:\n${faults.slice(0, 20).join('\n')}`);
    },
    { deadlineMs: 180_000, everyMs: 1000 },
  );
  // Each preview has a mark of its own, so the ledger is counted without the journal's word.
  const accepted = await acceptedByMark(description);
  const twice = [...accepted].filter(([, count]) => count > 1);
  expect(twice, 'marks that the platform accepted twice').toEqual([]);
  const byMark = new Map(load.told.map((told) => [told.mark, told]));
  expect([...accepted.keys()].filter((mark) => byMark.get(mark)?.committed !== true)).toEqual([]);
  for (const mark of [/\./, /^\d+$/]) expect([...accepted.keys()].some((each) => mark.test(each))).toBe(true);
  // The other direction: what a call said had taken effect is there.
  const claimed = load.told.filter(({ results }) => results.includes('applied')).map(({ mark }) => mark);
  expect(claimed.length).toBeGreaterThan(0);
  expect(claimed.filter((mark) => !accepted.has(mark))).toEqual([]);
}

/** How often the platform accepted a place or a replace, by what no other one asked for. */
async function acceptedByMark(description: SandboxDescription): Promise<Map<string, number>> {
  const lines = await controlLines(description, '/ledger?kind=request,decision');
  const markOf = new Map<number, string>();
  const counts = new Map<string, number>();
  for (const { kind, seq, method, url, body, request, decision } of lines) {
    if (kind === 'request' && method === 'POST' && url === '/v1/orders')
      markOf.set(seq, Number(JSON.parse(body).price).toFixed(2));
    if (kind === 'request' && method === 'PATCH') markOf.set(seq, JSON.parse(body).quantity);
    const mark = kind === 'decision' && decision === 'accepted' ? markOf.get(request) : undefined;
    if (mark !== undefined) counts.set(mark, (counts.get(mark) ?? 0) + 1);
  }
  return counts;
}
