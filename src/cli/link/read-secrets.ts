import type { Readable } from 'node:stream';
import type { ReadStream } from 'node:tty';
import { usage } from '../../runtime/program-error.ts';
import type { CliIo } from '../io/io.ts';

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
