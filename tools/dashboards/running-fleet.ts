import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { freePort } from '../../src/demo/devstack/free-port.ts';
import { type ChildProgram, jsonObject, startChild } from '../../src/demo/stack/child-program.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { neutralEnv } from '../../test/support/runs/neutral-env.ts';

type Settings = Readonly<Record<string, string>>;

interface Member {
  readonly name: string;
  readonly adminPort: number;
  /** Address of REST. */
  readonly rest: string;
  start(): Promise<void>;
}

/** Two processes of one installation on the parts of `tidemark dev`. Neither runs yet. */
export interface Fleet {
  readonly first: Member;
  readonly second: Member;
  /** The sandbox's control port. */
  readonly control: string;
  stop(): Promise<void>;
}

const io = { clock: systemClock, entry: [process.execPath, join(import.meta.dirname, '../../bin/tidemark.js')] };
const startMs = 180_000;

export async function prepareFleet(): Promise<Fleet> {
  const env = neutralEnv();
  const dev = await startChild(io, { name: 'dev', args: ['dev'], env, pick: printedSettings(), startMs });
  const children = [dev];
  const stop = async () => {
    for (const child of children.toReversed()) await child.stop();
  };
  try {
    const { control, settings } = dev.answer as Printed;
    for (const args of [['migrate'], ['topics', 'apply']])
      execFileSync(io.entry[0] ?? '', [...io.entry.slice(1), ...args], { env: { ...env, ...settings } });
    const member = (name: string) => prepareMember(name, { ...env, ...settings }, (child) => children.push(child));
    return { first: await member('desk-1'), second: await member('desk-2'), control, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function prepareMember(
  name: string,
  settings: Settings,
  onStart: (child: ChildProgram) => void,
): Promise<Member> {
  const [adminPort, restPort] = [await freePort(), await freePort()];
  const env = {
    ...settings,
    TIDEMARK_ADMIN_PORT: String(adminPort),
    TIDEMARK_HTTP_PORT: String(restPort),
    TIDEMARK_COMMANDS: 'on',
    TIDEMARK_DATABASE_BUDGET_MB: '200',
  };
  const pick = (line: string) => (jsonObject(line)?.['msg'] === 'REST port open' ? true : undefined);
  const start = async () => onStart(await startChild(io, { name, args: ['serve'], env, pick, startMs }));
  return { name, adminPort, rest: `http://127.0.0.1:${restPort}`, start };
}

interface Printed {
  readonly control: string;
  readonly settings: Settings;
}

/** Reads what `tidemark dev` prints to paste, up to its last line. */
function printedSettings(): (line: string) => Printed | undefined {
  const settings: Record<string, string> = {};
  let control = '';
  return (line) => {
    const [, name, value] = /^export (\w+)='?([^']*)'?$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) settings[name] = value;
    control = /control port (http:\S+)$/.exec(line)?.[1] ?? control;
    return line.endsWith('tidemark serve') ? { control, settings } : undefined;
  };
}
