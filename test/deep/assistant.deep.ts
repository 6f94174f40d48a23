import { it } from 'vitest';
import { assistantUnderFaults } from './parts/faulty-assistant.ts';

/**
 * `TIDEMARK_TEST_ASSISTANT_CALLS=10000` for the long run
 * (docs/decisions/041-an-assistant-previews-and-commits.md).
 */
const calls = Number(process.env['TIDEMARK_TEST_ASSISTANT_CALLS'] ?? 1_000);

it(`${calls} calls of an assistant whose answers are lost, late, torn or doubled, which gives up, repeats, restarts and is killed: no order is sent twice`, async () => {
  await assistantUnderFaults({ calls, kills: 3 });
}, 1_200_000);
