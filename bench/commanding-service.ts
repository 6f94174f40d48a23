import { freePort } from '../src/demo/devstack/free-port.ts';
import type { Cleanup } from './cleanup.ts';
import { RestClient } from './rest-client.ts';
import type { SandboxProcess } from './sandbox-process.ts';
import { type ServiceOptions, type ServiceProcess, startServiceProcess } from './service-process.ts';
import type { Stack } from './stack.ts';

/** A service that may send commands, and a caller of its REST. */
export interface CommandingService {
  readonly service: ServiceProcess;
  readonly rest: RestClient;
  /** Of its REST. */
  readonly url: string;
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

export async function startCommandingService(
  cleanup: Cleanup,
  stack: Stack,
  sandbox: SandboxProcess,
  options: ServiceOptions,
): Promise<CommandingService> {
  const port = await freePort();
  const env = { ...withoutBrakes, TIDEMARK_HTTP_PORT: String(port), ...options.env };
  const service = await startServiceProcess(cleanup, stack, sandbox, { ...options, env });
  const url = `http://127.0.0.1:${port}`;
  return { service, url, rest: new RestClient(cleanup, url, connections) };
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
