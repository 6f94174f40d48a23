import { type logCreator, logLevel } from 'kafkajs';
import type { Log } from '../observability/log.ts';

/**
 * Reports of kafkajs that it calls errors and that are none: coordinators that are still waking up, groups that rebalance, and connections that break. Each of them
 * comes back to us as a rejected call as well, and the caller logs it once, with its meaning.
 */
const noise =
  /coordinator|rebalanc|not a member of this group|Connection (error|timeout)|Closed connection|retired|Failed to connect|Failed to send messages|The producer is disconnected|^Response [A-Z]|old epoch|timed out|message larger than|topic-partition/i;

/** kafkajs's own words, in our log: one level lower than it thinks, noise at debug. */
export function kafkaLogCreator(log: Log): logCreator {
  const out = log.child({ from: 'kafkajs' });
  return () =>
    ({ namespace, level, log: { message, timestamp: _, logger: __, stack: ___, ...fields } }) => {
      const line = { namespace, ...fields };
      const isNoise = noise.test(message) || noise.test(String(fields['error'] ?? ''));
      if (level > logLevel.WARN || isNoise) out.debug(line, message);
      else if (level === logLevel.WARN) out.info(line, message);
      else out.warn(line, message);
    };
}
