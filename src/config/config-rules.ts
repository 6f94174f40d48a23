import type { Environment } from './check-names.ts';
import type { Config, ConfigFault } from './config.ts';
import type { OptionName } from './option-table.ts';
import { optionTable } from './option-table.ts';
import { isLoopback, isUnencrypted } from './unencrypted.ts';

type Draft = Partial<Config>;
type Rule = (config: Draft, env: Environment) => ConfigFault | undefined;

const fault = (option: OptionName, problem: string): ConfigFault => ({ name: optionTable[option].env, problem });

/** Faults that no option can see by itself. A rule looks only at options that are valid, so that one mistake is reported once. */
const rules: readonly Rule[] = [
  below('streamPingMs', 'streamIdleMs', 'a ping has to be answered before the stream counts as dead'),
  below('leaseRenewMs', 'leaseActMs', 'the holder would stop sending between two renewals'),
  below('leaseActMs', 'leaseExpireMs', 'a standby would take the lane while the holder still sends'),
  together('kafkaSslCert', 'kafkaSslKey'),
  together('kafkaSslKey', 'kafkaSslCert'),
  together('kafkaSaslMechanism', 'kafkaSaslUsername'),
  together('kafkaSaslMechanism', 'kafkaSaslPassword'),
  together('kafkaSaslUsername', 'kafkaSaslMechanism'),
  together('kafkaSaslPassword', 'kafkaSaslMechanism'),
  together('authIssuer', 'authAudience'),
  together('authIssuer', 'authJwksUrl'),
  together('authAudience', 'authIssuer'),
  together('authJwksUrl', 'authIssuer'),
  notAbove('haltUnresolvedAccount', 'haltUnresolvedService', 'the whole service would halt before the account'),
  breakerAboveBudget,
  (config) =>
    config.httpHost === undefined || isLoopback(urlHost(config.httpHost)) || signsIn(config)
      ? undefined
      : fault(
          'httpHost',
          `(${config.httpHost}) is not loopback, and nobody would have to sign in: set ${optionTable.authPrincipals.env}=on (tokens by \`tidemark token add\`), ${optionTable.authTokens.env} or ${optionTable.authIssuer.env}, or keep 127.0.0.1`,
        ),
  (config) =>
    config.fourEyes !== 'on' || signsIn(config)
      ? undefined
      : fault(
          'fourEyes',
          `(on) needs sign-in: without ${optionTable.authIssuer.env}, ${optionTable.authTokens.env} or ${optionTable.authPrincipals.env} there is one principal`,
        ),
  encrypted('authIssuer'),
  encrypted('authJwksUrl'),
  encrypted('restUrl'),
  encrypted('platformUrl'),
  encrypted('platformStagingUrl'),
  encrypted('platformAuthUrl'),
  encrypted('platformStreamUrl'),
  encrypted('platformStagingStreamUrl'),
  (config, env) =>
    config.environment === 'production' && env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0'
      ? { name: 'NODE_TLS_REJECT_UNAUTHORIZED', problem: 'must not be 0 in production: it lets anybody pose as the platform' }
      : undefined,
];

/** Every broken rule, in the order of the rules. */
export function checkRules(config: Draft, env: Environment): ConfigFault[] {
  return rules.map((rule) => rule(config, env)).filter((found) => found !== undefined);
}

type NumberOption = { [K in OptionName]: Config[K] extends number ? K : never }[OptionName];

function below(lower: NumberOption, upper: NumberOption, why: string): Rule {
  return (config) => {
    const [low, high] = [config[lower], config[upper]];
    if (low === undefined || high === undefined || low < high) return undefined;
    return fault(lower, `(${low}) must be below ${optionTable[upper].env} (${high}): ${why}`);
  };
}

function notAbove(lower: NumberOption, upper: NumberOption, why: string): Rule {
  return (config) => {
    const [low, high] = [config[lower], config[upper]];
    if (low === undefined || high === undefined || low <= high) return undefined;
    return fault(lower, `(${low}) must not be above ${optionTable[upper].env} (${high}): ${why}`);
  };
}

/** How much further back than its window the breaker may count (`RateBreaker`, invariant). */
const breakerReach = 1.05;

/** Else an account that keeps to its rate is halted by it. */
function breakerAboveBudget({ breakerCommands, breakerWindowMs, commandRate, commandBurst }: Draft): ConfigFault | undefined {
  if (breakerCommands === undefined || breakerWindowMs === undefined) return undefined;
  if (commandRate === undefined || commandBurst === undefined) return undefined;
  const allowed = Math.ceil(commandBurst + (commandRate * breakerWindowMs * breakerReach) / 1000);
  if (breakerCommands > allowed) return undefined;
  const { commandRate: rate, commandBurst: burst, breakerWindowMs: window } = optionTable;
  return fault(
    'breakerCommands',
    `(${breakerCommands}) must be above ${allowed}: the budget (${rate.env}=${commandRate}, ${burst.env}=${commandBurst}) allows as many within ${window.env} (${breakerWindowMs}), and an account that keeps to it would be halted`,
  );
}

function signsIn({ authIssuer, authTokens, authPrincipals }: Draft): boolean {
  return authIssuer !== undefined || authTokens !== undefined || authPrincipals === 'on';
}

function together(option: OptionName, needs: OptionName): Rule {
  return (config) =>
    config[option] !== undefined && config[needs] === undefined
      ? fault(option, `needs ${optionTable[needs].env} as well`)
      : undefined;
}

type UrlOption =
  | 'platformUrl'
  | 'platformStagingUrl'
  | 'platformAuthUrl'
  | 'platformStreamUrl'
  | 'platformStagingStreamUrl'
  | 'authIssuer'
  | 'authJwksUrl'
  | 'restUrl';

/** The specification calls the token endpoints over HTTPS ("Authentication" 9); the tokens themselves go to every other address. */
function encrypted(option: UrlOption): Rule {
  return (config) => {
    const address = config[option];
    if (config.environment !== 'production' || address === undefined || !isUnencrypted(address)) return undefined;
    const wanted = /^ws:/i.test(address) ? 'wss://' : 'https://';
    return fault(option, `must begin with ${wanted} in production; only loopback addresses may go unencrypted`);
  };
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
