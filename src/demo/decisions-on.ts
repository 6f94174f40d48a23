import { readLines } from './proof/prove-run.ts';

/**
 * The platform's own decisions on our references, from its ledger: `accepted`, `refused`,
 * `not_applied`, `deferred`, `lapsed`.
 */
export async function decisionsOn(
  fetchUrl: typeof fetch,
  control: string,
  references: readonly string[],
): Promise<string[]> {
  const decisions: string[] = [];
  for await (const line of readLines(fetchUrl, `${control}/ledger?kind=decision`)) {
    const { reference, decision } = JSON.parse(line) as { reference?: string; decision?: string };
    if (decision !== undefined && reference !== undefined && references.includes(reference)) decisions.push(decision);
  }
  return decisions;
}
