import { isLoopbackHost } from '../runtime/url-host.ts';
import { checkNames, type Environment } from './check-names.ts';
import type { Config, ConfigFault, ConfigWith, EffectiveValue } from './config.ts';
import type { Option } from './option.ts';
import { type OptionName, optionTable } from './option-table.ts';
import { isUnencrypted, venueAddresses } from './unencrypted.ts';
import { alpacaHosts } from './venue-options.ts';

type LoadResult<K extends OptionName> =
  | {
      readonly ok: true;
      readonly config: ConfigWith<K>;
      /** Every option, in the table's order. */
      readonly effective: readonly EffectiveValue[];
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; readonly faults: readonly ConfigFault[]; readonly warnings: readonly string[] };

const entries = Object.entries<Option<unknown>>(optionTable);

/** Options that may also be read from the file in `<name>_FILE`. */
export const secretNames: readonly string[] = entries.flatMap(([, { env, secret }]) => (secret ? [env] : []));

/** Every variable the program reads. */
export const knownNames: readonly string[] = [
  ...entries.map(([, { env }]) => env),
  ...secretNames.map((name) => `${name}_FILE`),
];

/**
 * Reads the whole configuration once. All faults are found at once: options that don't parse,
 * missing options in `needed`, broken rules between options, and typing errors in names. `readFile`
 * reads the files named by `*_FILE` variables. `neededBy`: more options, by other values.
 */
export function loadConfig<K extends OptionName = never>(
  env: Environment,
  readFile: (path: string) => string,
  needed: readonly K[] = [],
  neededBy: (config: Draft) => readonly OptionName[] = () => [],
): LoadResult<K> {
  const faults: ConfigFault[] = [];
  const values: Record<string, unknown> = {};
  const effective: EffectiveValue[] = [];
  const read = entries.map(([key, option]) => [key, option, readOption(option, env, readFile)] as const);
  for (const [key, , found] of read) if ('value' in found) values[key] = found.value;
  const wanted = new Set<string>([...needed, ...neededBy(values as Draft)]);
  for (const [key, option, found] of read) {
    if ('problem' in found) {
      faults.push(found);
      continue;
    }
    effective.push(found.effective);
    if (found.effective.source === 'unset' && wanted.has(key))
      faults.push({ name: option.env, problem: `is not set (${option.kind}): ${option.describe}` });
  }
  const names = checkNames(env, knownNames);
  // The table parsed the values, and `Config` is inferred from it, key by key; the type checker
  // can't follow that through a loop.
  const config = Object.freeze(values) as ConfigWith<K>;
  faults.push(...rules.flatMap((rule) => rule(config, env) || []), ...names.faults);
  if (faults.length > 0) return { ok: false, faults, warnings: names.warnings };
  return { ok: true, config, effective, warnings: names.warnings };
}

/** Without a value: it is unset. */
interface ReadOption {
  readonly effective: EffectiveValue;
  readonly value?: unknown;
}

function readOption(
  option: Option<unknown>,
  env: Environment,
  readFile: (path: string) => string,
): ConfigFault | ReadOption {
  const read = readOptionText(option, env, readFile);
  if (read !== undefined && 'problem' in read) return read;
  const { text = option.fallback, source = 'default' } = read ?? {};
  const { env: name, secret = false } = option;
  if (text === undefined) return { effective: { env: name, source: 'unset', shown: '', secret } };
  const parsed = option.parse(text);
  if (!parsed.ok) return { name, problem: parsed.problem };
  return { effective: { env: name, source, shown: parsed.shown, secret }, value: parsed.value };
}

type OptionSource = 'environment' | 'file';

/** Undefined: it is not set. */
type ReadText = { readonly text: string; readonly source: OptionSource } | ConfigFault | undefined;

/**
 * One option's text, trimmed: from its variable or, for a secret, from the file in `<env>_FILE`.
 */
function readOptionText(option: Option<unknown>, env: Environment, readFile: (path: string) => string): ReadText {
  const { env: name } = option;
  const small = option.alsoInSmallLetters ? env[name.toLowerCase()] : undefined;
  const direct = small === undefined || small.trim() === '' ? env[name] : small;
  const fileName = `${name}_FILE`;
  const path = option.secret ? env[fileName] : undefined;
  if (path === undefined) return direct === undefined ? undefined : given(option, name, direct, 'environment');
  if (direct !== undefined) return { name, problem: `is set twice: here and by ${fileName}; keep one` };
  if (path.trim() === '') return { name: fileName, problem: 'is set but blank' };
  try {
    return given(option, fileName, readFile(path.trim()), 'file');
  } catch (error) {
    return {
      name: fileName,
      problem: `names a file that can't be read${shownPath(path.trim())}: ${sentenceOfErrno(error)}`,
    };
  }
}

/**
 * A shell takes quotation marks away, a file for `docker run --env-file` keeps them. Then a secret
 * with two more characters would only be refused by its server. In the file of a `*_FILE` they are
 * taken as they are.
 */
const quoted = /^(?:".*"|'.*')$/s;
const quotedProblem = 'has quotation marks around its value: leave them out, they are a part of it here';
/** Its marks would become part of the first and the last item of a list. */
const json = /^[[{]\s*["\]}]/;
const jsonProblem = 'is written as JSON: leave the brackets and quotation marks out';

/**
 * A blank value counts as not set. There are two exceptions: a blank would widen a choice it was
 * meant to narrow, or it would sign in without a secret.
 */
function given(option: Option<unknown>, name: string, value: string, source: OptionSource): ReadText {
  const text = value.trim();
  if (source === 'environment' && quoted.test(text)) return { name, problem: quotedProblem };
  if (!option.secret && json.test(text)) return { name, problem: jsonProblem };
  // As a file in UTF-16 reads, which Windows' own programs write.
  if (source === 'file' && /[\0\ufffd]/.test(text)) return { name, problem: 'names a file that is not text in UTF-8' };
  if (text !== '') return { text, source };
  if (!option.refusesBlank) return undefined;
  return {
    name,
    problem: source === 'file' ? 'names a file that is blank' : 'is set but blank; give it a value or unset it',
  };
}

const sentences: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'no permission',
  EISDIR: 'it is a folder',
};

/**
 * The path, if it is certainly one. A secret written into a `_FILE` variable by mistake is not
 * printed: it has no short parts between slashes.
 */
function shownPath(path: string): string {
  return /^(?:\.{0,2}|~)(?:\/[\w.@+-]{1,40})+$/.test(path) && path.length <= 300 ? `, ${path}` : '';
}

/**
 * Why a file can't be read, without the path: a secret written into a `_FILE` variable by mistake
 * would be printed with it.
 */
function sentenceOfErrno(error: unknown): string {
  const code =
    error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown reason';
  return sentences[code] ?? code;
}

type Draft = Partial<Config>;
/** False or undefined: it is kept. */
type Rule = (config: Draft, env: Environment) => ConfigFault | false | undefined;

const fault = (option: OptionName, problem: string): ConfigFault => ({ name: optionTable[option].env, problem });

/**
 * Rules between several options. A rule looks only at valid options, so one mistake is reported
 * once.
 */
const rules: readonly Rule[] = [
  ordered('streamPingMs', 'be below', 'streamIdleMs', 'a ping has to be answered before the stream counts as dead'),
  ordered('leaseMarginMs', 'be below', 'leaseTtlMs', 'this process would never send'),
  renewsInTime,
  ...bothOrNone('kafkaSslCert', 'kafkaSslKey'),
  withTls('kafkaSslCa'),
  withTls('kafkaSslCert'),
  withTls('kafkaSslKey'),
  ...bothOrNone('kafkaSaslMechanism', 'kafkaSaslUsername'),
  ...bothOrNone('kafkaSaslMechanism', 'kafkaSaslPassword'),
  ...bothOrNone('authIssuer', 'authAudience'),
  ...bothOrNone('authIssuer', 'authJwksUrl'),
  needs('consoleClientId', 'authIssuer'),
  ordered(
    'haltUnresolvedAccount',
    'not be above',
    'haltUnresolvedService',
    'the whole service would halt before the account',
  ),
  breakerAboveBudget,
  (config) =>
    config.httpHost !== undefined &&
    !isLoopbackHost(config.httpHost) &&
    !signsIn(config) &&
    fault(
      'httpHost',
      `(${config.httpHost}) is not loopback, and callers would need no sign-in: set ${optionTable.authPrincipals.env}=on (tokens by \`tidemark token add\`), ${optionTable.authTokens.env} or ${optionTable.authIssuer.env}, or keep 127.0.0.1`,
    ),
  (config) =>
    config.fourEyes === 'on' &&
    !signsIn(config) &&
    fault(
      'fourEyes',
      `(on) needs sign-in: without ${optionTable.authIssuer.env}, ${optionTable.authTokens.env} or ${optionTable.authPrincipals.env} there is one principal`,
    ),
  (config) =>
    config.consoleDemoUrl !== undefined &&
    (!isLoopbackHost(new URL(config.consoleDemoUrl).hostname) || signsIn(config)) &&
    fault('consoleDemoUrl', 'is for the demo: it must be a loopback address, of a service without sign-in'),
  ...(['authIssuer', 'authJwksUrl', 'restUrl', ...venueAddresses] as const).map(encrypted),
  withoutVersion('alpacaUrl'),
  withoutVersion('alpacaOtherUrl'),
  ofItsEnvironment('alpacaUrl'),
  ofItsEnvironment('alpacaOtherUrl'),
  ofItsEnvironment('alpacaStreamUrl'),
  (config, env) => config.otlpHeaders !== undefined && encrypted('otlpEndpoint')(config, env),
  (config, env) =>
    config.environment === 'production' &&
    env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0' && {
      name: 'NODE_TLS_REJECT_UNAUTHORIZED',
      problem: 'must not be 0 in production: it lets any program pose as the platform',
    },
];

type NumberOption = { [K in OptionName]: Config[K] extends number ? K : never }[OptionName];

/** A margin as long as the lease is the fault of another rule. */
function renewsInTime({ leaseRenewMs, leaseMarginMs, leaseTtlMs }: Draft): ConfigFault | undefined {
  if (leaseRenewMs === undefined || leaseMarginMs === undefined || leaseTtlMs === undefined) return undefined;
  const actMs = leaseTtlMs - leaseMarginMs;
  if (actMs <= 0 || leaseRenewMs < actMs) return undefined;
  const most = `${optionTable.leaseTtlMs.env} less ${optionTable.leaseMarginMs.env} (${actMs})`;
  const problem = `(${leaseRenewMs}) must be below ${most}: this process would stop sending between two renewals`;
  return fault('leaseRenewMs', problem);
}

function ordered(lower: NumberOption, order: 'be below' | 'not be above', upper: NumberOption, why: string): Rule {
  return (config) => {
    const [low, high] = [config[lower], config[upper]];
    if (low === undefined || high === undefined || low < high) return undefined;
    if (low === high && order === 'not be above') return undefined;
    return fault(lower, `(${low}) must ${order} ${optionTable[upper].env} (${high}): ${why}`);
  };
}

/** How much further back than its window the breaker may count (`RateBreaker`, invariant). */
const breakerReach = 1.05;

/** Otherwise the breaker would halt an account that keeps to its rate. */
function breakerAboveBudget({
  breakerCommands,
  breakerWindowMs,
  commandRate,
  commandBurst,
}: Draft): ConfigFault | undefined {
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

/** Left out of a plain connection, it would look as if it counted. */
function withTls(option: OptionName): Rule {
  return (config) =>
    config[option] !== undefined &&
    config.kafkaSsl === 'off' &&
    fault(option, `needs ${optionTable.kafkaSsl.env}=on: the connection would be plain text`);
}

function bothOrNone(one: OptionName, other: OptionName): readonly Rule[] {
  return [needs(one, other), needs(other, one)];
}

function needs(option: OptionName, other: OptionName): Rule {
  return (config) =>
    config[option] !== undefined &&
    config[other] === undefined &&
    fault(option, `needs ${optionTable[other].env} as well`);
}

type UrlOption = (typeof venueAddresses)[number] | 'authIssuer' | 'authJwksUrl' | 'restUrl' | 'otlpEndpoint';

function withoutVersion(option: 'alpacaUrl' | 'alpacaOtherUrl'): Rule {
  return (config) =>
    config[option]?.endsWith('/v2') &&
    fault(option, 'must not end with /v2, as Alpaca shows it: it is the base of the API without a version');
}

/** A paper order must not be taken for one with money, and the other way round. */
function ofItsEnvironment(option: 'alpacaUrl' | 'alpacaOtherUrl' | 'alpacaStreamUrl'): Rule {
  return (config) => {
    const { [option]: address, alpacaEnvironment: environment } = config;
    const host = address === undefined ? undefined : new URL(address).hostname;
    const isLive = (environment === 'live') === (option !== 'alpacaOtherUrl');
    const [wanted, other] = isLive ? ['live', alpacaHosts.paper] : ['paper', alpacaHosts.live];
    if (host !== other) return undefined;
    const { env } = optionTable.alpacaEnvironment;
    return fault(
      option,
      `names the host ${other}, and is for ${wanted}, since ${env} is ${environment}: their keys and orders are not the same`,
    );
  };
}

/**
 * The specification calls the token endpoints over HTTPS ("Authentication" 9); the tokens
 * themselves go to every other address.
 */
function encrypted(option: UrlOption): Rule {
  return (config) => {
    const address = config[option];
    if (config.environment !== 'production' || address === undefined || !isUnencrypted(address)) return undefined;
    const wanted = /^ws:/i.test(address) ? 'wss://' : 'https://';
    return fault(option, `must begin with ${wanted} in production; only loopback addresses may go unencrypted`);
  };
}
