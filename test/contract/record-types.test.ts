import { expect, it } from 'vitest';
import { recordTypes } from './record-types.ts';

// Where it differs: npx vitest run -u --project unit test/contract/record-types.test.ts
it('types/records.d.ts is what the shapes of the records say', async () => {
  await expect(recordTypes()).toMatchFileSnapshot('../../types/records.d.ts');
});
