import { createLog, type Log } from '../../../src/observability/log.ts';

/** A log whose lines a test can read. */
export function testLines(): { readonly log: Log; readonly lines: () => readonly Readonly<Record<string, unknown>>[] } {
  let text = '';
  const destination = {
    write(line: string) {
      text += line;
    },
  };
  const log = createLog({ destination }, { level: 'info', version: '0', pretty: false, secrets: [] });
  return { log, lines: () => text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)])) };
}
