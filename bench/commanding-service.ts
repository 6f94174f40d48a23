import { freePort } from '../src/demo/devstack/free-port.ts';
import type { Bench } from './figure.ts';
import { RestClient } from './rest-client.ts';
import { type SandboxProcess, startSandboxProcess } from './sandbox-process.ts';
import { startServiceProcess } from './service-process.ts';
import type { Watched } from './watch-load.ts';
import { openOrders } from './with-service.ts';

/** The caller of a service that may send commands. */
export interface CommandingService {
  readonly rest: RestClient;
}

const connections = 64;

/**
 * Budgets, breaker and halts far away: what is measured is the way of a command, not the brakes on
 * it. The probes keep their own budget.
 */
const withoutBrakes = {
  TIDEMARK_COMMANDS: 'on',
  TIDEMARK_COMMAND_RATE: '10000',
  TIDEMARK_COMMAND_BURST: '100000',
  TIDEMARK_BREAKER_COMMANDS: '1000000',
  TIDEMARK_HALT_UNRESOLVED_ACCOUNT: '100000',
  TIDEMARK_HALT_UNRESOLVED_SERVICE: '100000',
};

interface CommandingOptions {
  /** Names the database and the topics. */
  readonly part: string;
  /** Settings that lead to something before the platform's REST, from its two addresses. */
  readonly platformEnv?: (platform: string, staging: string) => Promise<Readonly<Record<string, string>>>;
}

/** As `withService`, with commands on. */
export async function withCommands<T>(
  bench: Bench,
  { part, platformEnv }: CommandingOptions,
  work: (commanding: CommandingService, watched: Watched) => Promise<T>,
): Promise<T> {
  const { cleanup, stack } = bench;
  const port = await freePort();
  const sandbox = await startSandboxProcess(cleanup, { openOrders, knownOrders: openOrders });
  const { platform, staging } = sandbox.description;
  const env = { ...withoutBrakes, TIDEMARK_HTTP_PORT: String(port), ...(await platformEnv?.(platform, staging)) };
  const service = await startServiceProcess(bench, sandbox, { part, env });
  const rest = new RestClient(cleanup, `http://127.0.0.1:${port}`, connections);
  const result = await work({ rest }, { stack, sandbox, service });
  await service.stop();
  await sandbox.stop();
  return result;
}

/** The accounts that the service's client may trade, and whether prediction orders too. */
export function tradedAccounts({
  description,
}: SandboxProcess): { readonly id: string; readonly predictions: boolean }[] {
  return description.users.filter(({ username }) => username !== 'carol').flatMap(({ accounts }) => accounts);
}

export interface Placing {
  readonly path: string;
  readonly body: object;
}

/**
 * The `index`-th of many orders that all differ in their terms and are far from the market: they
 * rest, and no two look like one sent twice.
 */
export function restingOrder(accounts: ReturnType<typeof tradedAccounts>, index: number): Placing {
  const account = accounts[index % accounts.length];
  if (account === undefined) throw new Error('there is no account to trade');
  const quantity = String(1 + index);
  if (account.predictions && index % 2 === 0) {
    const terms = {
      symbol: 'FED-CUT-DEC26',
      outcome: 'YES',
      side: 'buy',
      orderType: 'limit',
      timeInForce: 'gtc',
      price: '0.01',
    };
    return { path: '/v1/predictions/orders', body: { accountId: account.id, ...terms, quantity } };
  }
  const terms = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', timeInForce: 'GTC', price: '1' };
  return { path: '/v1/orders', body: { accountId: account.id, ...terms, qty: quantity } };
}
