import type { CliIo } from '../cli/io/io.ts';
import { withDeadline } from '../runtime/waiting.ts';

const answerWithinMs = 10_000;

/**
 * Sends one order to the sandbox's control port, and returns its answer. Throws with the port's own
 * words when it refuses.
 */
export async function askSandbox(
  io: Pick<CliIo, 'fetch' | 'clock'>,
  control: string,
  path: string,
  body?: object,
): Promise<Readonly<Record<string, unknown>>> {
  const request =
    body === undefined
      ? io.fetch(`${control}${path}`)
      : io.fetch(`${control}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
  const response = await withDeadline(io.clock, answerWithinMs, 'the sandbox', request);
  const text = await response.text();
  if (!response.ok) throw new Error(`the sandbox answered ${response.status} to ${path}: ${text.slice(0, 500)}`);
  return JSON.parse(text) as Readonly<Record<string, unknown>>;
}
