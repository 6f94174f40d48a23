import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { sandboxOptions } from '../../src/sandbox/sandbox-options.ts';

describe('the scenarios of the documentation', () => {
  it.each(readdirSync('docs/scenarios'))('%s can be played', (name) => {
    const { error } = sandboxOptions.safeParse(JSON.parse(readFileSync(`docs/scenarios/${name}`, 'utf8')));
    expect(error).toBeUndefined();
  });
});
