import { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load-config.ts';
import { fetchThrough } from '../runtime/connector-through.ts';
import { exitCodes, sentenceOf } from '../runtime/program-error.ts';
import { Proxies } from '../runtime/proxies.ts';
import { withDeadline } from '../runtime/waiting.ts';
import { wsSocketDefaults, wsSocketFactory } from '../service/sources/ws-socket.ts';
import { UndiciHttp } from '../venue/platform/undici-http.ts';
import { checkAlpaca } from './doctor/check-alpaca.ts';
import { checkCallers, checkEncryption, checkSignInScreen } from './doctor/check-callers.ts';
import { checkDatabase } from './doctor/check-database.ts';
import { checkKafka, checkPublishedTopics } from './doctor/check-kafka.ts';
import { checkLogins } from './doctor/check-logins.ts';
import { checkPlatform } from './doctor/check-platform.ts';
import { checkProxies } from './doctor/check-proxies.ts';
import { checkStreams } from './doctor/check-streams.ts';
import { type CheckDeps, type Finding, fail, ok, warn } from './doctor/finding.ts';
import { printable } from './io/format-text.ts';
import { type CliIo, printResult } from './io/io.ts';
import { ambientOf } from './io/read-config.ts';

const examples = `
Examples:
  $ tidemark doctor
  $ tidemark doctor --json | jq '.[] | select(.verdict != "ok")'

It changes nothing, but for a token of the platform where there is none for it and the service to use. Exit codes: 0 nothing fails (warnings may be there), 1 something does.`;

/** Checks everything the service needs, and names the fix for each fault. */
export function doctorCommand(io: CliIo): Command {
  return new Command('doctor')
    .description(
      'Checks everything that the service needs (settings, database, brokers, topics, platform, logins, clock, callers) and shows how to fix faults.',
    )
    .option('--json', 'print the findings as a JSON array: part, verdict (ok, warn, fail), detail, fix')
    .addHelpText('after', examples)
    .action((flags: { json?: true }) => runDoctor(io, flags));
}

async function runDoctor(io: CliIo, flags: { readonly json?: true }): Promise<void> {
  const findings = await examine(io);
  printResult(io, flags, findings, findings.map((finding) => line(io, finding)).join(''), 2);
  if (findings.some(({ verdict }) => verdict === 'fail')) io.exit(exitCodes.failed);
}

function line({ colours }: CliIo, { part, verdict, detail, fix }: Finding): string {
  const indent = ' '.repeat(6);
  return `${colours.word(verdict.padEnd(4))}  ${part}: ${printable(detail)}\n${fix === undefined ? '' : `${indent}${printable(fix)}\n`}`;
}

/**
 * Checks the parts in parallel, since each may wait for its deadline. Lists them in the order in
 * which to fix them.
 */
async function examine(io: CliIo): Promise<Finding[]> {
  const loaded = loadConfig(io.env, io.readFile);
  const warnings = loaded.warnings.map((text) => warn('settings', text, 'Correct the name, or unset it.'));
  if (!loaded.ok) {
    const faults = loaded.faults.map(({ name, problem }) =>
      fail('settings', `${name} ${problem}`, 'See `tidemark config docs`.'),
    );
    return [...faults, ...warnings];
  }
  const { config } = loaded;
  const { clock } = io;
  const proxies = new Proxies(config);
  const http = new UndiciHttp({ clock, proxies });
  const deps: CheckDeps = {
    ...ambientOf(io, config),
    http,
    fetch: fetchThrough({ fetch: io.fetch, clock, proxies }),
    openSocket: wsSocketFactory(clock, wsSocketDefaults, proxies),
  };
  const checks = {
    database: checkDatabase,
    kafka: checkKafka,
    'published topics': checkPublishedTopics,
    ...(config.venues.includes('platform') && { platform: checkPlatformWhole }),
    ...(config.venues.includes('alpaca') && { alpaca: checkAlpaca }),
    callers: checkCallers,
  };
  const parts = await Promise.all(
    Object.entries(checks).map(([part, check]) => bounded(io, part, check(config, deps))),
  ).finally(() => http.close());
  return [
    ok('settings', 'can be read'),
    ...warnings,
    ...checkEncryption(config),
    ...checkProxies(config, io.env),
    ...parts.flat(),
  ];
}

/** Above the sum of the deadlines within a part: only for an unforeseen hang. */
const partWithinMs = 90_000;

/** A part that hangs or breaks becomes one line. The others are still shown. */
function bounded(io: CliIo, part: string, work: Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  return withDeadline(io.clock, partWithinMs, `looking at ${part}`, work).catch((error: unknown) => [
    fail(part, `could not be checked: ${sentenceOf(error)}`, 'Run it again with TIDEMARK_LOG_LEVEL=debug.'),
  ]);
}

/** Also the sign-in screen, the linked logins, and the streams by the first token. */
async function checkPlatformWhole(config: Config, deps: CheckDeps): Promise<readonly Finding[]> {
  const { platformAuthUrl: authUrl } = config;
  const [client, screen, logins] = await Promise.all([
    checkPlatform(config, deps),
    authUrl === undefined ? [] : checkSignInScreen(authUrl, deps.http).then((finding) => [finding]),
    checkLogins(config, deps),
  ]);
  const accessToken = client.accessToken ?? logins.accessToken;
  const streams = accessToken === undefined ? [] : await checkStreams(config, accessToken, deps);
  return [...client.findings, ...logins.findings, ...screen, ...streams];
}
