import { parseArgs } from 'node:util';
import { Cleanup } from './cleanup.ts';
import { measureNaive } from './measure-naive.ts';
import { startStack } from './stack.ts';

const cleanup = new Cleanup();
cleanup.onSignals();
const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' } } });
try {
  const stack = await startStack(cleanup);
  console.log(await measureNaive(cleanup, stack, Number(values.seconds)));
} finally {
  await cleanup.run();
}
