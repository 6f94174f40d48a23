import type { Readable } from 'node:stream';
import type { ReadStream } from 'node:tty';
import type { Config } from '../../config/config.ts';
import { type AlpacaEnvironment, alpacaAddresses } from '../../config/venue-options.ts';
import { createMetrics } from '../../observability/metrics.ts';
import { exitCodes, ProgramError, usage } from '../../runtime/program-error.ts';
import { Secret } from '../../runtime/secret.ts';
import type { CredentialList, TokenStore } from '../../runtime/token-store.ts';
import { abortAfter } from '../../runtime/waiting.ts';
import { concernsWholeAccount } from '../../service/sources/account-access.ts';
import { alpacaReads } from '../../venue/alpaca/alpaca-reads.ts';
import { keyPairSource } from '../../venue/alpaca/key-source.ts';
import { type KeyPair, keyName, keyOfPair, tokenOfKey } from '../../venue/key-source.ts';
import type { AccountsResult } from '../../venue/order-reads.ts';
import { storeLogin } from '../../venue/platform/token-source.ts';
import type { PlatformError } from '../../venue/platform-error.ts';
import type { ReadDeps } from '../../venue/read-venue.ts';
import type { TokenSource } from '../../venue/tokens.ts';
import { abortOnSignal, type CliIo } from '../io/io.ts';

const shapes = { keyId: /^[A-Za-z0-9_-]{1,100}$/, secretKey: /^[!-~]{1,200}$/ };

/** Both parts, from a person or from a pipe. A flag would show them to everyone who runs `ps`. */
export async function readKeyPair(io: CliIo, timeoutMs: number): Promise<KeyPair> {
  using interrupted = abortOnSignal(io);
  using late = abortAfter(io.clock, timeoutMs, 'the key pair', interrupted.signal);
  const [keyId, secretKey] = await readSecrets(io, ['Key id: ', 'Secret key: '], late.signal);
  if (keyId === undefined || secretKey === undefined)
    throw new ProgramError('no key pair was given', {
      code: 'NO_KEY',
      fix: 'Run it in a terminal, or write two lines to its stdin: the key id and the secret.',
    });
  if (!shapes.keyId.test(keyId) || !shapes.secretKey.test(secretKey))
    throw usage('this is no key pair', 'The key id comes first, then the secret, each on a line of its own.');
  return { keyId, secretKey: new Secret(secretKey) };
}

/** The account of a key, by one request. */
export function askForAccount(
  deps: Pick<ReadDeps, 'clock' | 'random' | 'http'>,
  tokens: TokenSource,
  addresses: Parameters<typeof alpacaReads>[1],
): Promise<AccountsResult> {
  const budget = { purpose: 'probe', mayRepeat: () => false } as const;
  const reads = alpacaReads({ ...deps, tokens, budget, metrics: createMetrics().platform }, addresses);
  return reads.listAccounts(new AbortController().signal);
}

interface LinkKeyDeps extends Pick<ReadDeps, 'clock' | 'random' | 'http'> {
  readonly store: TokenStore & CredentialList;
}

interface LinkKeyOptions {
  readonly config: Config;
  readonly environment: AlpacaEnvironment;
  /** This process, for the claim. */
  readonly holder: string;
}

/** Stores a key pair that Alpaca takes, sealed, as the one for its account. Returns its name. */
export async function linkKey(deps: LinkKeyDeps, options: LinkKeyOptions, key: KeyPair) {
  const { config, environment, holder } = options;
  const addresses = alpacaAddresses(config, environment);
  const listed = await askForAccount(deps, keyPairSource(deps.clock, key), addresses);
  if (!listed.complete) throw notTaken(listed.error, config, environment);
  const accountId = listed.accounts[0]?.accountId ?? '';
  const credential = keyName(addresses.stream, accountId);
  const token = tokenOfKey(keyOfPair(key));
  if ((await storeLogin(deps, credential, holder, async () => ({ ok: true, token }))) === 'busy')
    throw new ProgramError('the key could not be stored: another process is busy with it', {
      code: 'BUSY',
      fix: 'Run it again.',
    });
  return { credential, accountId };
}

function notTaken(error: PlatformError, config: Config, environment: AlpacaEnvironment): ProgramError {
  const { url } = alpacaAddresses(config, environment);
  const other = environment === 'live' ? 'paper' : 'live';
  const isRefused = concernsWholeAccount(error) && error.code !== 'BAD_ANSWER';
  const why = isRefused ? `Alpaca refuses the key pair for ${environment} (${url})` : `${url}: ${error.message}`;
  const ofKey = `Check both parts. Paper and live have keys of their own: if this is a key for ${other}, add --environment ${other}.`;
  return new ProgramError(`${why}; nothing is stored`, {
    code: error.code ?? 'VENUE',
    exitCode: isRefused ? exitCodes.denied : exitCodes.unavailable,
    fix: fixOf(error, environment === config.alpacaEnvironment ? 'ALPACA_URL' : 'ALPACA_OTHER_URL', ofKey),
  });
}

/**
 * The next step for a person. `setting` has the address; `ofKey` is for a refused key. An answer
 * without a message of Alpaca may be a proxy's.
 */
export function fixOf({ code, status, retryAfterMs = 0 }: PlatformError, setting: string, ofKey: string): string {
  if (status === 429) {
    const after = retryAfterMs > 0 ? `${Math.ceil(retryAfterMs / 1000)} s` : 'a minute';
    return `Run it again in ${after}: all programs with keys of this account share its requests.`;
  }
  if (status !== undefined && status >= 500)
    return `Run it again in a minute: Alpaca has a fault, or a proxy on the way. If it stays, check ${setting}.`;
  if (code === 'BAD_ANSWER')
    return `Check ${setting}, HTTPS_PROXY and NO_PROXY: another server may answer, such as a proxy or a sign-in page.`;
  if (code === 'LOGIN_REQUIRED' || status === 403) return ofKey;
  return `Check ${setting}, and that this machine may reach it.`;
}

/** No key is as long. */
const mostChars = 1_000;
const [interrupt, endOfInput] = ['\x03', '\x04'];
const isErase = (char: string) => char === '\x7f' || char === '\b';

/**
 * A line of stdin for each prompt, fewer if it ends before or `signal` aborts. A terminal shows the
 * prompts, and nothing of what is typed; a pipe needs none.
 */
export async function readSecrets(
  io: Pick<CliIo, 'pipe' | 'stderr'>,
  prompts: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const input: Readable & Partial<Pick<ReadStream, 'isTTY' | 'setRawMode'>> = io.pipe.input;
  const isTerminal = input.isTTY === true;
  const say = (text: string) => isTerminal && io.stderr.write(text);
  const lines: string[] = [];
  let line = '';
  const isWhole = (char: string) => {
    if (char === interrupt || char === endOfInput) return true;
    if (isErase(char)) line = line.slice(0, -1);
    else if (char !== '\n' && char !== '\r') line += char;
    else if (line !== '') {
      lines.push(line);
      line = '';
      say(`\n${prompts[lines.length] ?? ''}`);
    }
    if (line.length > mostChars) throw usage(`a line of more than ${mostChars} characters is no key`);
    return lines.length === prompts.length;
  };
  const stop = () => input.destroy();
  signal.addEventListener('abort', stop);
  if (isTerminal) input.setRawMode?.(true);
  say(prompts[0] ?? '');
  try {
    for await (const chunk of input.setEncoding('utf8').iterator({ destroyOnReturn: false }))
      for (const char of chunk as string) if (isWhole(char)) return lines;
    return line === '' ? lines : [...lines, line];
  } catch (error) {
    if (signal.aborted) return [];
    throw error;
  } finally {
    if (isTerminal) input.setRawMode?.(false);
    signal.removeEventListener('abort', stop);
    stop();
  }
}
