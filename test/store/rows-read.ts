import type { Pool } from 'pg';
import type { Asked } from '../support/orders/read-rig.ts';

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/**
 * Rows of the table that the statement reads by the plan that a prepared one keeps, whatever its
 * parameters are. Throws for a sequential scan.
 */
export async function rowsRead(pool: Pool, { text, values }: Asked, table = 'orders'): Promise<number> {
  const client = await pool.connect();
  try {
    await client.query(`set plan_cache_mode = force_generic_plan; prepare asked as ${text}`);
    const { rows } = await client.query(
      `explain (analyze, format json) execute asked${values.length > 0 ? `(${values.map(literal).join(', ')})` : ''}`,
    );
    return readBy(rows[0]?.['QUERY PLAN'][0].Plan, table);
  } finally {
    client.release(true);
  }
}

function readBy(node: PlanNode, table: string): number {
  const below = (node.Plans ?? []).reduce((sum, each) => sum + readBy(each, table), 0);
  if (node['Relation Name'] !== table) return below;
  if (node['Node Type'] === 'Seq Scan') throw new Error(`all of ${table} is read`);
  return below + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
}

function literal(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? `array[${value.map(literal).join(', ')}]::text[]` : `'${String(value)}'`;
}
