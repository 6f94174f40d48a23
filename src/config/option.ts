import { isIPv6 } from 'node:net';
import { platformId } from '../domain/platform-id.ts';
import { isReservedName } from '../domain/reserved-name.ts';
import { Secret } from '../runtime/secret.ts';
import { bareHost } from '../runtime/url-host.ts';
import { databaseAddressProblem } from './database-address.ts';

/** The option groups in the documentation, in this order. */
export const optionGroups = [
  'Process',
  'Postgres',
  'Kafka',
  'Platform',
  'Venues',
  'Proxy',
  'Lane',
  'Ingest and relay',
  'Streams and audit',
  'REST',
  'Commands',
  'Traces',
  'Command line',
] as const;

type OptionGroup = (typeof optionGroups)[number];

/** An option's data in the table, in addition to its kind. */
export interface OptionText {
  /** The environment variable. */
  readonly env: string;
  /** For the person who has to choose a value: its effect, and when to change it. */
  readonly describe: string;
  /**
   * The value if the variable is not set, as it would be written there. Without it the option is
   * absent unless set.
   */
  readonly fallback?: string;
}

type Parsed<T> =
  /** `shown` may be printed: the value as it would be written, masked if it is secret. */
  { readonly ok: true; readonly value: T; readonly shown: string } | { readonly ok: false; readonly problem: string };

export interface OptionKind<T> {
  /** For people: unit and range. */
  readonly kind: string;
  /** `<env>_FILE` may name a file that holds it, and no part is ever printed. */
  readonly secret?: true;
  /**
   * Set but blank is a fault, not the same as unset. A blank list would widen a choice it was meant
   * to narrow.
   */
  readonly refusesBlank?: true;
  /** The name in small letters is read too, and wins if it is not blank. */
  readonly alsoInSmallLetters?: true;
  /**
   * `text` is trimmed and not empty. The problem continues the sentence "<env> …" and never quotes
   * a secret.
   */
  parse(text: string): Parsed<T>;
}

/** An option of the table, in its group of the documentation. */
export type Option<T> = OptionText & OptionKind<T> & Group;

interface Group {
  readonly group: OptionGroup;
}

/** The options of one group. */
export function inGroup<Options extends object>(
  group: OptionGroup,
  options: Options,
): { readonly [Name in keyof Options]: Options[Name] & Group } {
  const named = Object.entries(options).map(([name, option]) => [name, { ...option, group }]);
  return Object.fromEntries(named);
}

/**
 * A principal that may use REST with a static token. The configuration has only the token's hash,
 * so it does not reveal any.
 */
interface StaticToken {
  /**
   * The principal's name in the journal and in the audit trail. Several tokens with one name are
   * one caller, which owns its idempotency keys.
   */
  readonly name: string;
  /** SHA-256 of the token, 64 hexadecimal digits in lower case. */
  readonly sha256: string;
  readonly scopes: readonly string[];
  readonly accounts: 'all' | readonly string[];
  /** Absent: it has no end. */
  readonly expiresAtMs?: number;
}

const scope = '(?:orders|ops):(?:read|write)';
const account = '[\\x21-\\x29\\x2b\\x2d-\\x3a\\x3c-\\x7e]{1,50}';
const entry = new RegExp(
  `^(?<name>[A-Za-z0-9._-]{1,64})(?:@(?<ends>\\d{4}-\\d{2}-\\d{2}))?:(?<sha256>[0-9A-Fa-f]{64}):(?<scopes>${scope}(?:,${scope})*):(?<accounts>\\*|${account}(?:,${account})*)$`,
);

/**
 * `name:sha256:scopes:accounts`, or `name@2027-01-31:…` for one that ends as that day begins (UTC);
 * several separated by blanks, line ends or semicolons. Returns the number of the first entry that
 * is wrong, is named `loopback`, or repeats a hash.
 */
export function parseStaticTokens(
  text: string,
): readonly StaticToken[] | { readonly wrong: number; readonly count: number } {
  const entries = text.split(/[\s;]+/).filter((part) => part !== '');
  const tokens: StaticToken[] = [];
  for (const [index, part] of entries.entries()) {
    const token = parseEntry(part);
    const taken = tokens.some(({ sha256 }) => sha256 === token?.sha256);
    if (token === undefined || taken) return { wrong: index + 1, count: entries.length };
    tokens.push(token);
  }
  return Object.freeze(tokens);
}

function parseEntry(text: string): StaticToken | undefined {
  const { name = '', ends, sha256 = '', scopes = '', accounts = '' } = entry.exec(text)?.groups ?? {};
  if (name === '' || isReservedName(name)) return undefined;
  const expiresAtMs = ends === undefined ? undefined : Date.parse(ends);
  if (Number.isNaN(expiresAtMs)) return undefined;
  return {
    name,
    sha256: sha256.toLowerCase(),
    scopes: scopes.split(','),
    accounts: accounts === '*' ? 'all' : accounts.split(','),
    ...(expiresAtMs !== undefined && { expiresAtMs }),
  };
}

/** `S` keeps whether a fallback is given, since that decides if the value can be absent. */
export type Built<S extends OptionText, T> = S & OptionKind<T>;

export const refused = (problem: string) => ({ ok: false, problem }) as const;
export const accepted = <T>(value: T, shown: string): Parsed<T> => ({ ok: true, value, shown });

/**
 * A fault quotes a number, with its unit or without, or a word of at most five letters, since a
 * person who sees it can correct it. Any other value may be a secret in the wrong variable.
 */
function quoted(text: string): string {
  return /^(?:[+-]?[\d.]\w{0,9}|[+-]?\d[\d.,_']{0,20} ?[a-z%]{0,12}|[a-z]{1,5})$/i.test(text)
    ? `; "${text}" is not one`
    : '';
}

interface Range {
  readonly min: number;
  readonly max: number;
  /** Plural: `milliseconds`, `days`, `bytes`. Absent for ports and counts that name themselves. */
  readonly unit?: string;
}

/** A whole number in a range. A unit is never written with it: `5000`, not `5s`. */
export function integer<const S extends OptionText & Range>(spec: S): Built<S, number> {
  const unit = spec.unit === undefined ? '' : ` of ${spec.unit}`;
  const parse = (text: string) => {
    if (/^0\d/.test(text)) return refused(`must be a whole number${unit} without a zero before it${quoted(text)}`);
    if (!/^\d+$/.test(text)) return refused(`must be a whole number${unit}, digits only${quoted(text)}`);
    const value = Number(text);
    if (value < spec.min || value > spec.max) {
      const seen = text.length > 15 ? `has ${text.length} digits` : `is ${text}`;
      return refused(`must be from ${spec.min} to ${spec.max}${unit.replace(' of', '')}; it ${seen}`);
    }
    return accepted(value, text);
  };
  return { ...spec, kind: `whole number${unit}, ${spec.min} to ${spec.max}`, parse };
}

export function milliseconds<const S extends OptionText & Range>(spec: S): Built<S, number> {
  return integer({ ...spec, unit: 'milliseconds' });
}

/** A person who writes the one means the other. No list has these words beside `on` and `off`. */
const switchWords: Readonly<Record<string, string>> = { true: 'on', false: 'off' };

/** One word from a list. */
export function oneOf<const S extends OptionText & { readonly words: readonly string[] }>(
  spec: S,
): Built<S, S['words'][number]> {
  const list = spec.words.join(', ');
  const parse = (text: string) => {
    const given = text.toLowerCase();
    const word = spec.words.find((candidate) => candidate === (switchWords[given] ?? given));
    return word === undefined ? refused(`must be one of ${list}${quoted(text)}`) : accepted(word, word);
  };
  return { ...spec, kind: `one of ${list}`, parse };
}

export function onOff<const S extends OptionText>(spec: S): Built<S, 'off' | 'on'> {
  return oneOf({ ...spec, words: ['off', 'on'] });
}

interface Pattern {
  readonly pattern: RegExp;
  /** Continues "must be": the shape the pattern asks for. */
  readonly shape: string;
}

/** Text with a given shape. */
export function text<const S extends OptionText & Pattern>(spec: S): Built<S, string> {
  return {
    ...spec,
    kind: spec.shape,
    parse: (value) => (spec.pattern.test(value) ? accepted(value, value) : refused(`must be ${spec.shape}`)),
  };
}

/**
 * A host name or an IP address to listen on; an IPv6 address with brackets or without, kept
 * without.
 */
export function host<const S extends OptionText>(spec: S): Built<S, string> {
  const kind = 'a host name or an IP address';
  const parse = (text: string) => {
    const bare = bareHost(text);
    const isHost = isIPv6(bare) || (bare === text && /^[0-9A-Za-z._-]{1,253}$/.test(text));
    return isHost ? accepted(bare, bare) : refused(`must be ${kind}, without a port`);
  };
  return { ...spec, kind, parse };
}

/** Words separated by commas, none twice. */
export function list<const S extends OptionText & Pattern>(spec: S): Built<S, readonly string[]> {
  const parse = (value: string) => {
    const words = value.split(',').map((word) => word.trim());
    const wrong = words.findIndex((word) => !spec.pattern.test(word));
    if (wrong !== -1) return refused(`must be ${spec.shape}; item ${wrong + 1} of ${words.length} is not`);
    const repeated = words.findIndex((word, index) => words.indexOf(word) !== index);
    if (repeated !== -1)
      return refused(`names the same thing twice: item ${repeated + 1} of ${words.length} repeats an earlier one`);
    return accepted(Object.freeze(words), words.join(','));
  };
  return { ...spec, kind: spec.shape, refusesBlank: true, parse };
}

/** An address without a slash at its end, so paths can be appended. */
export function baseUrl<const S extends OptionText>(spec: S, schemes = overHttp): Built<S, string> {
  return url(spec, schemes, (text) => text.replace(/\/+$/, ''));
}

const overHttp = ['https', 'http'];

/** For a stream's address. */
export const overWebSocket = ['wss', 'ws'];

/** `https:// or http://` */
function schemeWords(schemes: readonly string[]): string {
  return schemes.map((scheme) => `${scheme}://`).join(' or ');
}

/** A known scheme is no secret; anything else may be one in the wrong variable. */
function begun(text: string): string {
  if (!text.includes('://')) return '; it has no ://';
  const [scheme] = /^(?:https?|wss?|postgres(?:ql)?|kafka|tcp):\/\//i.exec(text) ?? [];
  return scheme === undefined ? '' : `; it begins with ${scheme.toLowerCase()}`;
}

/**
 * The address, or why there is none. One with a right scheme that can't be read has a fault behind
 * it, and to ask for the scheme would mislead.
 */
function parseAddress(text: string, schemes: readonly string[]): URL | { readonly problem: string } {
  const parsed = URL.parse(text);
  const isRight = schemes.some((scheme) => text.toLowerCase().startsWith(`${scheme}://`));
  if (parsed === null && isRight) return { problem: `can't be read behind its scheme: ${unreadableParts}` };
  if (parsed === null || !isRight)
    return { problem: `must be a whole address that begins with ${schemeWords(schemes)}${begun(text)}` };
  return parsed.port === '0' ? { problem: 'must not have the port 0: nothing listens there' } : parsed;
}

const unreadableParts =
  'a port is a number from 1 to 65535, an IPv6 address stands in brackets, and in a password each of / ? # [ ] @ % is percent-encoded (%2F for /)';

export function accountIds<const S extends OptionText>(spec: S): Built<S, readonly string[]> {
  return list({ ...spec, pattern: platformId, shape: 'account ids, separated by commas' });
}

/**
 * A whole address without credentials, query or fragment. Without `shape` it stays as written: an
 * issuer is compared by its text.
 */
export function url<const S extends OptionText>(
  spec: S,
  schemes = overHttp,
  shape = (text: string) => text,
): Built<S, string> {
  const parse = (value: string) => {
    const parsed = parseAddress(value, schemes);
    if ('problem' in parsed) return refused(parsed.problem);
    if (parsed.username !== '' || parsed.password !== '')
      return refused('must not carry credentials; they have variables of their own');
    if (parsed.search !== '' || parsed.hash !== '') return refused('must not carry a query or a fragment');
    const text = shape(value);
    return accepted(text, text);
  };
  return { ...spec, kind: `address, ${schemeWords(schemes)}`, parse };
}

/** A secret: kept in a `Secret`, never printed, and readable from the file in `<env>_FILE`. */
export function secret<const S extends OptionText & Pick<Pattern, 'shape'> & Partial<Pattern>>(
  spec: S,
): Built<S, Secret> {
  const parse = (value: string) => {
    if (spec.pattern !== undefined && !spec.pattern.test(value)) return refused(`must be ${spec.shape}`);
    if (spec.pattern === undefined && /[\r\n]/.test(value)) return refused('must be one line');
    return accepted(new Secret(value), '[redacted]');
  };
  return { ...spec, kind: spec.shape, secret: true, refusesBlank: true, parse };
}

/** An address that may carry a password: a secret as a whole, printed with the password masked. */
export function databaseUrl<const S extends OptionText>(spec: S): Built<S, Secret> {
  const schemes = ['postgres', 'postgresql'];
  const parse = (value: string) => {
    const problem = databaseAddressProblem(value);
    if (problem !== undefined) return refused(problem);
    const parsed = parseAddress(value, schemes);
    if ('problem' in parsed) return refused(parsed.problem);
    return accepted(new Secret(value), maskedUrl(parsed));
  };
  return { ...spec, kind: `address, ${schemeWords(schemes)}`, secret: true, refusesBlank: true, parse };
}

/**
 * Host, port, path and user. The password and the whole query (libpq takes a password there too)
 * are left out.
 */
function maskedUrl(parsed: URL): string {
  const user = parsed.username === '' ? '' : `${parsed.username}${parsed.password === '' ? '' : ':[redacted]'}@`;
  return `${parsed.protocol}//${user}${parsed.host}${parsed.pathname}${parsed.search === '' ? '' : '?[redacted]'}`;
}

/**
 * Hashed tokens with their rights. Treated as a secret, so a file may hold it; names may be
 * printed, hashes never are.
 */
export function staticTokens<const S extends OptionText>(spec: S): Built<S, readonly StaticToken[]> {
  const shape = 'name:sha256:scopes:accounts, several separated by blanks or lines';
  const parse = (value: string) => {
    const tokens = parseStaticTokens(value);
    if ('wrong' in tokens)
      return refused(
        `must be ${shape}, no hash twice, none named loopback; entry ${tokens.wrong} of ${tokens.count} is not`,
      );
    return accepted(tokens, [...new Set(tokens.map(({ name }) => name))].join(','));
  };
  return { ...spec, kind: shape, secret: true, refusesBlank: true, parse };
}
