import { describe, expect, it } from 'vitest';
import { wireSubjects } from '../../support/platform/wire-subjects.ts';
import { rowsOf, tableOf } from '../../support/platform/wire-variations.ts';

const page = './wire-results.md';
const head = `# What is made of each field that the platform may send otherwise

Made by \`npx vitest run -u --project unit test/venue/platform/wire-results.test.ts\`, through the code that reads each answer; a test compares it. Read it after a change: each cell is a decision.

A field that may be left out may also be null or empty; a number stands for its text; a field that is not needed never decides.
A number or a time is read in every spelling that leaves no doubt (\`+187.5\`, \`1.875e2\`, \`.55\`; an offset without its colon, small letters, more than nine digits of a second), and a word in any case, with \`_\`, \`-\` or a blank between its parts.
A symbol is stored in one form (upper case, an option compact), and blanks around a text are no part of it. A view that is only spelt otherwise than the one before makes no update, whichever field it is.
What is needed and can't be read is kept and shown: an order is kept aside in \`dead_letters\` and read once more, the result of a write is \`unknown\` until an observation resolves it, a list is read again.

\`=\`: as if nothing had changed. \`without\`: the same verdict, without what the field says. Other words: the verdict then.
*number or text*: the number of a text, or the text of a number, or 7 where there is none. *another type*: an object, or \`true\` in place of an object.

`;

describe('what the platform may send otherwise', () => {
  it('has the results of wire-results.md', async () => {
    const tables: string[] = [];
    for (const subject of wireSubjects) tables.push(tableOf(subject, await rowsOf(subject)));
    await expect(head + tables.join('\n')).toMatchFileSnapshot(page);
  });

  it.each(wireSubjects)('makes no difference between null, empty and absent: $name', async (subject) => {
    // A list is itself needed: absent, it may be another answer. Its items are their own subject.
    const lists = /^(?:accounts|orders|data\.orders|d|data|results)(?:\.0)?$|^0$|^legs\.\d$/;
    for (const { field, cells } of await rowsOf(subject)) {
      if (lists.test(field)) continue;
      expect({ field, null: cells['null'], empty: cells['empty'] }).toEqual({
        field,
        null: cells['absent'],
        empty: cells['absent'],
      });
    }
  });
});
