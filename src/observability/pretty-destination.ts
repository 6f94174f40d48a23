import { createRequire } from 'node:module';
import type { DestinationStream } from 'pino';

/**
 * Lines for people: time of day, level, message, then the fields. pino-pretty's formatter alone, without its stream, whose buffer would
 * lose the last lines before an exit; and loaded only here, since production writes JSON.
 */
export function prettyDestination(destination: DestinationStream): DestinationStream {
  const { prettyFactory }: typeof import('pino-pretty') = createRequire(import.meta.url)('pino-pretty');
  const format = prettyFactory({ colorize: true, translateTime: 'SYS:HH:MM:ss.l', ignore: 'service,version', singleLine: true });
  return { write: (line) => destination.write(format(line)) };
}
