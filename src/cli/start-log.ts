import type { Config } from '../config/config.ts';
import { createLog } from '../observability/create-log.ts';
import type { Log } from '../observability/log.ts';
import { Secret } from '../runtime/secret.ts';
import type { CliIo } from './io.ts';

/** The log of a long-lived process: stdout is its only output. */
export function serviceLog(io: CliIo, config: Config): Log {
  return logTo(io, config, 'stdout', config.logLevel);
}

/** The log of a command that ends: on stderr, so that stdout holds the result alone, and only what went wrong unless more was asked for. */
export function commandLog(io: CliIo, config: Config): Log {
  return logTo(io, config, 'stderr', config.logLevel === 'info' ? 'warn' : config.logLevel);
}

function logTo(io: CliIo, config: Config, output: 'stdout' | 'stderr', level: Config['logLevel']): Log {
  const secrets = Object.values(config).filter((value) => value instanceof Secret);
  return createLog({ destination: io[output] }, { level, version: io.version, pretty: io.isTerminal, secrets });
}
