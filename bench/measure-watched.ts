import { restingOrder, withCommands } from './commanding-service.ts';
import type { Bench, Figure } from './figure.ts';
import { loadAt, probeSeconds, settle } from './measure-service.ts';
import type { RestClient } from './rest-client.ts';
import { accountsOf, type SandboxProcess } from './sandbox-process.ts';
import type { Watched } from './watch-load.ts';
import { withService } from './with-service.ts';

const rounds = 2;
const unknownCommands = 1000;
const placedAtOnce = 16;

/**
 * The rate of the stream with commands off, and with the journal, the resolver and a thousand
 * commands that it watches, in turn.
 */
export async function measureWatched(bench: Bench): Promise<Figure[]> {
  const [off, watching]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    off.push(await withService(bench, { part: 'watched' }, unpaced));
    const withThem = withCommands(bench, { part: 'watched' }, async (rest, watched) => {
      await placeUnknown(rest, watched.sandbox);
      return unpaced(watched);
    });
    watching.push(await withThem);
  }
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return [
    { name: 'unpaced with commands off, updates/s', value: sum(off) / rounds, note: off.join(' and ') },
    { name: 'unpaced beside them, updates/s', value: sum(watching) / rounds, note: watching.join(' and ') },
    { name: '% change of the stream by them', value: (sum(watching) / sum(off) - 1) * 100, atLeast: -10 },
  ];
}

async function unpaced(watched: Watched): Promise<number> {
  const { publishedPerSecond } = await loadAt(watched, 'max', probeSeconds);
  await settle(watched);
  return publishedPerSecond;
}

/** Places a thousand orders that the platform answers 504 and never does: each is looked for. */
async function placeUnknown(rest: RestClient, sandbox: SandboxProcess): Promise<void> {
  const rule = { on: 'write', fault: 'outcome_unknown', write: 'place', applied: 'no', times: 2 * unknownCommands };
  const answer = await fetch(`${sandbox.description.control}/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ rules: [rule] }),
  });
  if (!answer.ok) throw new Error(`the sandbox refused the faults: ${answer.status} ${await answer.text()}`);
  const accounts = accountsOf(sandbox);
  let [next, unknown, said] = [0, 0, ''];
  const placer = async () => {
    while (unknown < unknownCommands && next < 2 * unknownCommands) {
      const { path, body } = restingOrder(accounts, next++);
      const { status, text } = await rest.post(path, body);
      // On a busy machine some miss their deadline before they are sent: others take their place.
      if (status === 202) unknown += 1;
      else said = `${status}: ${text.slice(0, 400)}`;
    }
  };
  await Promise.all(Array.from({ length: placedAtOnce }, placer));
  if (unknown < unknownCommands) throw new Error(`${unknown} commands are without a result; others were ${said}`);
}
