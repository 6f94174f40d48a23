import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { sandboxOptions, scenarioSchema } from '../../src/sandbox/sandbox-options.ts';

describe('the scenarios of the documentation', () => {
  it.each(readdirSync('docs/scenarios'))('%s can be played', (name) => {
    const { error } = sandboxOptions.safeParse(JSON.parse(readFileSync(`docs/scenarios/${name}`, 'utf8')));
    expect(error).toBeUndefined();
  });

  it('have a schema that is the shape that the program takes', () => {
    const kept: unknown = JSON.parse(readFileSync('docs/scenario.schema.json', 'utf8'));
    expect(kept, 'write it anew: npx tidemark sandbox --schema > docs/scenario.schema.json').toEqual(scenarioSchema());
  });
});
