import type { CliIo } from '../../cli/io/io.ts';
import { commandLogger, readConfig } from '../../cli/io/read-config.ts';
import { ProgramError } from '../../runtime/program-error.ts';
import { unlessAborted } from '../../runtime/waiting.ts';
import type { AlpacaDescription } from '../../sandbox/alpaca/describe-alpaca.ts';
import { askSandbox } from '../ask-sandbox.ts';
import { DemoScreen } from '../demo-screen.ts';
import { type Fact, factText } from '../fact-text.ts';
import { followCommand } from '../follow-command.ts';
import { readLines } from '../proof/prove-run.ts';
import { ShownRest } from '../shown-rest.ts';
import { interruption } from '../stack/start-parts.ts';
import { type DemoStack, startStack } from '../start-stack.ts';
import { fetchSdk, placeBySdk, sdkName } from './official-sdk.ts';
import { brokenClaims, type Side, sidesTable } from './sides.ts';

/** Lost answers for each side. */
const lost = 2;
const settleMs = 20_000;

interface Experiment {
  readonly io: CliIo;
  readonly stack: DemoStack;
  readonly alpaca: AlpacaDescription;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Places one order by Alpaca's own SDK and one by Tidemark. The venue keeps each, and loses its
 * answers. The exit code is 1 unless all is as claimed.
 */
export async function runLostAnswer(io: CliIo, flags: { readonly json?: true }): Promise<void> {
  const log = commandLogger(io, readConfig(io));
  const screen = new DemoScreen(io, flags.json ? 'stderr' : 'stdout');
  const say = (line: string) => screen.say(line);
  const { signal } = interruption(io, say);
  say(`Getting ${sdkName}, Alpaca's own SDK for Python …`);
  await unlessAborted(fetchSdk(io), signal);
  const market = { venue: 'alpaca', rate: 0, seed: 1, isEmpty: true, kafka: false } as const;
  const stack = await startStack(io, log, { ...market, say, signal });
  try {
    const { alpaca } = stack.sandbox;
    if (alpaca === undefined) throw new Error('the sandbox of Alpaca is another one');
    const sides = await placeAll({ io, stack, alpaca, say, signal });
    const broken = brokenClaims(sides);
    say(`\n${sidesTable(sides)}`);
    for (const claim of broken) say(claim);
    say(broken.length === 0 ? verdict : 'This is not as claimed.');
    if (flags.json) io.stdout.write(`${JSON.stringify({ sides, broken })}\n`);
    if (broken.length > 0) io.exit(1);
  } finally {
    await stack.stop();
  }
}

const verdict = `As claimed: the SDK made three orders of one, or called an order refused that is open.
Tidemark sent it once, said that it does not know, and found it.`;

async function placeAll(experiment: Experiment): Promise<Side[]> {
  const { say } = experiment;
  say('\nEach side is to buy 10 AAPL at 187.50, once. The venue, an emulated Alpaca, takes each order.');
  say(`It loses its answers to the first ${lost} requests: the caller gets 504.\n`);
  say('The SDK sends again by itself, after 3 s each time …');
  const bySdk = await Promise.all([
    bySdkSide(experiment, 1, 'no client id', {}),
    bySdkSide(experiment, 2, 'a client id', { CLIENT_ORDER_ID: 'lost-answer' }),
  ]);
  say('Now Tidemark. The stream loses the order too, so it has to ask the venue:\n');
  return [...bySdk, await byTidemark(experiment)];
}

async function bySdkSide(
  experiment: Experiment,
  account: number,
  how: string,
  more: Readonly<Record<string, string>>,
): Promise<Side> {
  const { io, alpaca, signal } = experiment;
  const { keyId = '', secretKey = '', accountNumber = '' } = alpaca.accounts[account] ?? {};
  await loseAnswers(experiment, accountNumber);
  const settings = { ALPACA_URL: alpaca.url, ALPACA_KEY_ID: keyId, ALPACA_SECRET_KEY: secretKey, ...more };
  const told = await placeBySdk(io, settings, signal);
  return { who: `alpaca-py, ${how}`, ...told, ...(await atVenue(experiment, accountNumber)) };
}

async function byTidemark(experiment: Experiment): Promise<Side> {
  const { io, stack, alpaca, say, signal } = experiment;
  const { accountNumber: accountId = '' } = alpaca.accounts[0] ?? {};
  await loseAnswers(experiment, accountId, { on: 'event', fault: 'silent_loss', times: 100, accountId });
  const rest = new ShownRest(io, { address: stack.restAddress, say });
  const terms = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', qty: '10', price: '187.50', timeInForce: 'DAY' };
  const placed = await rest.ask({
    method: 'POST',
    path: '/v1/orders',
    headers: { 'idempotency-key': io.random.uuid() },
    body: { accountId, stream: stack.sandbox.stream, ...terms },
  });
  const { commandId, result: first, detail } = placed.body;
  if (typeof commandId !== 'string') throw new ProgramError(`Tidemark declined: ${detail}`, { code: 'DECLINED' });
  const following = { name: 'Tidemark', say, lineOf: timedText, limitMs: settleMs, signal };
  const { result, evidence } = await followCommand(io, rest, commandId, following);
  const told = result === first ? result : `${first}, then ${result}`;
  return { who: 'Tidemark', told, words: settledText(evidence), ...(await atVenue(experiment, accountId)) };
}

function timedText(fact: Fact): string | undefined {
  const text = factText(fact);
  return text && `${fact.at.slice(11, 23)}  ${text}`;
}

/** How its result became known, and when after the answer. */
function settledText(evidence: readonly Fact[]): string {
  const answer = evidence.find(({ kind }) => kind === 'answer');
  const landed = evidence.find(({ code }) => code === 'landed');
  if (answer === undefined || landed === undefined) return 'not found';
  const way = landed.detail?.['cause'] === 'probe' ? 'found by client id' : 'seen';
  return `${way} after ${((Date.parse(landed.at) - Date.parse(answer.at)) / 1000).toFixed(1)} s`;
}

/** The next requests to place on the account are done, and answered with 504. */
async function loseAnswers({ io, alpaca }: Experiment, accountId: string, ...more: object[]): Promise<void> {
  const rule = { on: 'write', write: 'place', fault: 'status_504', applied: 'yes', times: lost, accountId };
  await askSandbox(io, alpaca.control, '/faults', { rules: [rule, ...more] });
}

/** By the venue's own ledger and orders. */
async function atVenue({ io, alpaca }: Experiment, accountId: string): Promise<Pick<Side, 'sent' | 'orders'>> {
  let sent = 0;
  for await (const line of readLines(io.fetch, `${alpaca.control}/ledger?kind=decision`)) {
    const decided = JSON.parse(line) as { readonly accountId?: string; readonly write?: string };
    if (decided.accountId === accountId && decided.write === 'place') sent += 1;
  }
  const orders: string[] = [];
  for await (const line of readLines(io.fetch, `${alpaca.control}/state?accountId=${accountId}`))
    orders.push((JSON.parse(line) as { readonly order: { readonly status: string } }).order.status);
  return { sent, orders };
}
