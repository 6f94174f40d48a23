import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** The rules of WCAG 2.0 to 2.2, A and AA, and those that axe calls best practice. */
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

const flashesOver =
  'Promise.all(document.getAnimations().filter((each) => each.effect.getTiming().iterations === 1).map((each) => each.finished.catch(() => {})))';

interface Finding {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
}

/**
 * axe-core finds nothing wrong on the page as it is now, in light and in dark. The page must be at
 * rest on the screen that is meant: wait for its content first. axe comes in by the debugger, so
 * the policy of the page stays in force.
 */
export async function expectAccessible(page: Page): Promise<void> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe);
  const found: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    // A cell that flashes keeps the colour of the scheme in which it began.
    await page.evaluate(flashesOver);
    await page.emulateMedia({ colorScheme });
    const run = `axe.run(document, ${JSON.stringify({ runOnly: rules, resultTypes: ['violations'] })}).then(({ violations }) => violations)`;
    const violations = (await page.evaluate(run)) as readonly Finding[];
    found.push(...violations.map((finding) => `${colorScheme}: ${textOf(finding)}`));
  }
  await page.emulateMedia({ colorScheme: null });
  expect(found).toEqual([]);
}

/** The rule, and the first elements that break it. */
function textOf({ id, help, nodes }: Finding): string {
  const where = nodes.slice(0, 3).map(({ target, failureSummary = '' }) => `${target.join(' ')} (${failureSummary})`);
  return `${id}, ${help}: ${where.join('; ')}${nodes.length > 3 ? ` and ${nodes.length - 3} more` : ''}`;
}
