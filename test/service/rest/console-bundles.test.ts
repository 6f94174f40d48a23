import { expect, it } from 'vitest';
import { bundleConsole } from '../../../src/service/rest/console/bundle-console.ts';

/** What the screen "Break it" is made of, in scripts, styles, and the maps of both. */
const traces = ['Break it', 'break-it', '/console/demo', 'src/demo/', 'lost_store'];

it('only the demo has the screen "Break it" in its files', async () => {
  const [installed, demo] = await Promise.all([bundleConsole({ demo: false }), bundleConsole({ demo: true })]);
  const found = (files: typeof demo) => {
    const text = [...files].map(([name, bytes]) => name + new TextDecoder().decode(bytes)).join('\n');
    return traces.filter((trace) => text.includes(trace));
  };
  expect(found(demo), 'the check can fail').toEqual(traces);
  expect(found(installed)).toEqual([]);
});
