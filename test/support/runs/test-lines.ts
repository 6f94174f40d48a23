import { createLogger, type Logger } from '../../../src/observability/logger.ts';

/** A log whose lines a test can read. */
export function testLines(): {
  readonly log: Logger;
  readonly lines: () => readonly Readonly<Record<string, unknown>>[];
} {
  let text = '';
  const destination = {
    write(line: string) {
      text += line;
    },
  };
  const log = createLogger({ destination }, { level: 'info', version: '0', pretty: false, secrets: [] });
  return { log, lines: () => text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)])) };
}
