import type { ProvenSandbox, World } from '../runs/service-under-test.ts';

const uuid = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/gu;
const mostCommands = 5;
const mostLines = 60;

interface Known {
  readonly world: World;
  readonly description: ProvenSandbox;
}

/**
 * When `judge` fails, its error says all that is known of each command that it names: a rare
 * failure leaves nothing else behind.
 */
export async function withDossiers<T>(known: Known, judge: () => Promise<T>): Promise<T> {
  try {
    return await judge();
  } catch (error) {
    const ids = [...new Set(String(error).match(uuid))].slice(0, mostCommands);
    throw new Error([String(error), ...(await dossiersOf(known, ids))].join('\n'), { cause: error });
  }
}

async function dossiersOf({ world, description }: Known, ids: readonly string[]): Promise<string[]> {
  const ledger = (await (await fetch(`${description.control}/ledger?kind=request,decision,change`)).text()).split('\n');
  const lines: string[] = [];
  const tell = async (what: string, text: string, values: readonly unknown[] = []) => {
    for (const { row } of await world.query<{ row: string }>(
      `select to_json(t)::text as row from (${text}) as t`,
      values,
    ))
      lines.push(`  ${what} ${row}`);
  };
  for (const id of ids) {
    lines.push(`command ${id}`);
    await tell('journal', 'select * from journal where command_id = $1 order by number', [id]);
    await tell('facts', 'select * from facts where command_id = $1 order by behind, id', [id]);
    await tell('open', 'select * from open_commands where command_id = $1', [id]);
    const named = await world.query<{ name: string }>(
      `select distinct name from journal cross join lateral (values (order_id), (attempt_id)) as n(name)
       where command_id = $1 and name is not null`,
      [id],
    );
    const names = [id, ...named.map(({ name }) => name)];
    await tell('order', 'select * from orders where order_id = any($1)', [names]);
    const about = (text: string) => names.some((name) => text.includes(name));
    lines.push(...ledger.filter(about).slice(-mostLines));
    for (const { process } of world.services)
      lines.push(
        ...process.lines
          .filter(about)
          .slice(-mostLines)
          .map((line) => `  ${process.pid} ${line}`),
      );
  }
  await tell('shard', 'select * from shards left join result_positions as position using (shard) order by shard');
  for (const { process } of world.services.slice(-mostCommands))
    lines.push(`process ${process.pid}, running: ${process.running}`, ...process.lines.slice(-mostLines));
  return lines;
}
