import { type Cast, castOf } from '../register-cast.ts';
import type { SandboxInput, SandboxOptions } from '../sandbox-options.ts';
import { type EmulatedVenue, type RunningSandbox, type SandboxDeps, startVenue } from '../start-sandbox.ts';
import { noteActivity } from './activities.ts';
import { createAlpacaApp } from './alpaca-app.ts';
import { alpacaProtocol } from './alpaca-stream.ts';
import { alpacaWords, uuidOf } from './alpaca-words.ts';
import { keysOf } from './api-keys.ts';
import type { AlpacaDescription } from './describe-alpaca.ts';
import { followGroup } from './order-groups.ts';

const alpaca: EmulatedVenue<'platform', AlpacaDescription> = {
  words: alpacaWords,
  // No prediction orders, a replace always makes a new order, and no order has several legs.
  market: { predictionShare: 0, successorShare: 1, maxLegs: 1 },
  answersEveryOrder: true,
  changed: (entry, order, step) => {
    noteActivity(order, step);
    followGroup(entry, order, step);
  },
  cast: withoutPredictions,
  protocol: alpacaProtocol,
  apps: (parts, options) => ({ platform: createAlpacaApp(parts, options.alpaca) }),
  streamsOn: ['platform'],
  opened: (_parts, { platform, control }, cast) => ({
    venue: 'alpaca',
    url: platform,
    stream: `${platform.replace(/^http/, 'ws')}/stream`,
    control,
    accounts: cast.users
      .flatMap((user) => user.accounts)
      .map((account) => ({ id: uuidOf(account.id), accountNumber: account.id, ...keysOf(account) })),
  }),
};

/** Starts Alpaca's trading API and stream over the sandbox's exchange, as `startSandbox` does. */
export function startAlpaca(input: SandboxInput, deps: SandboxDeps): Promise<RunningSandbox<AlpacaDescription>> {
  return startVenue(alpaca, input, deps);
}

function withoutPredictions(options: SandboxOptions): Cast {
  const { users, clients } = castOf(options);
  const plain = (account: Cast['users'][number]['accounts'][number]) => ({ ...account, predictions: false });
  return { users: users.map((user) => ({ ...user, accounts: user.accounts.map(plain) })), clients };
}
