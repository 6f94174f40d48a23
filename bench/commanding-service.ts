import { freePort } from '../src/demo/devstack/free-port.ts';
import type { Bench } from './figure.ts';
import { RestClient } from './rest-client.ts';
import type { accountsOf, SandboxProcess } from './sandbox-process.ts';
import type { ServiceOptions } from './service-process.ts';
import type { Watched } from './watch-load.ts';
import { withService } from './with-service.ts';

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

/** As `withService`, with commands on. */
export async function withCommands<T>(
  bench: Bench,
  options: ServiceOptions,
  /** Also with a caller of the service. */
  work: (rest: RestClient, watched: Watched) => Promise<T>,
): Promise<T> {
  const port = await freePort();
  const env = async (sandbox: SandboxProcess) => ({
    ...{ ...withoutBrakes, TIDEMARK_HTTP_PORT: String(port) },
    ...(await options.env?.(sandbox)),
  });
  return withService(bench, { ...options, env }, (watched) => {
    const rest = new RestClient(bench.cleanup, `http://127.0.0.1:${port}`, connections);
    return work(rest, watched);
  });
}

/**
 * The `index`-th of many orders that all differ in their terms and are far from the market: they
 * rest, and no two look like one sent twice.
 */
export function restingOrder(accounts: ReturnType<typeof accountsOf>, index: number) {
  const account = accounts[index % accounts.length];
  if (account === undefined) throw new Error('there is no account to trade');
  const quantity = String(1 + index);
  if (account.predictions && index % 2 === 0) {
    const order = { side: 'buy', orderType: 'limit', timeInForce: 'gtc', price: '0.01' };
    const terms = { symbol: 'FED-CUT-DEC26', outcome: 'YES', ...order };
    return { path: '/v1/predictions/orders', body: { accountId: account.id, ...terms, quantity } };
  }
  const terms = { symbol: 'AAPL', side: 'BUY', type: 'LIMIT', timeInForce: 'GTC', price: '1' };
  return { path: '/v1/orders', body: { accountId: account.id, ...terms, qty: quantity } };
}
