import type { z } from 'zod';
import { probeAnswer } from '../../../contract/rest-answers.ts';
import { present } from '../../../domain/present.ts';
import { jsonOrUndefined } from '../../../runtime/json-or-undefined.ts';
import { inParallel } from '../../../runtime/waiting.ts';
import type { Answer, Done } from '../../commands/answer.ts';
import type { Commands, ProbeReport } from '../../commands/commands.ts';
import type { AnyCall, Forwarding } from './forwarding.ts';
import { askAll, unansweredOf } from './over-instances.ts';

type Report = z.infer<typeof probeAnswer>;

interface ProbeAllParts {
  readonly commands: Pick<Commands, 'probeNow' | 'openCommands'>;
  readonly forwarding: Forwarding;
}

/** Accounts that are asked for at once, each at its own holder. */
const atOnce = 8;

/**
 * A probe of all accounts. Every command that was open when it was asked for is looked at,
 * or named in `left`: its account was between two processes, its holder has no room for it, or its
 * write is under way. A report says only what its own process looked at, so the commands are
 * compared with the journal's. The accounts of those that are left are asked for one by one, each
 * as a request of its own: the others are not read twice.
 */
export async function probeAll(
  { commands, forwarding }: ProbeAllParts,
  call: AnyCall,
  dryRun: boolean,
): Promise<Answer<Done<{ body: Report }>>> {
  const before = await commands.openCommands();
  if (before.kind === 'declined') return before;
  const untilMs = forwarding.untilMs();
  const look = async (accountId?: string) => {
    const result = await commands.probeNow(present({ dryRun, accountId }));
    return result.kind === 'done' ? { kind: 'done' as const, body: mergeReports([result.report]) } : result;
  };
  const { bodies, missing } = await askAll<Report>(forwarding, call, { shape: probeAnswer, run: () => look() });
  const reports = [...bodies];
  let left = before.commands;
  const leaveOpen = async () => {
    const looked = new Set(reports.flatMap(({ plan }) => plan.flatMap(({ commands: of }) => of)));
    left = left.filter(({ commandId }) => !looked.has(commandId));
    // Some were resolved meanwhile, by another look or by an update.
    const now = left.length > 0 ? await commands.openCommands() : before;
    if (now.kind === 'declined') return;
    const open = new Set(now.commands.map(({ commandId }) => commandId));
    left = left.filter(({ commandId }) => open.has(commandId));
  };
  await leaveOpen();
  await inParallel(new Set(left.map(({ accountId }) => accountId)), atOnce, async (accountId) => {
    const url = `/v1/probe?${new URLSearchParams({ accountId, dryRun: String(dryRun) })}`;
    const given = await forwarding.enter({ ...call, url }, accountId, () => look(accountId), untilMs);
    if (given.kind === 'done') reports.push(given.body);
    if (given.kind !== 'answered' || given.answer.status !== 200) return;
    const { data } = probeAnswer.safeParse(jsonOrUndefined(given.answer.text));
    if (data !== undefined) reports.push(data);
  });
  await leaveOpen();
  const accounts = Map.groupBy(left, ({ accountId }) => accountId);
  const body = {
    ...mergeReports(reports),
    ...(left.length > 0 && {
      left: [...accounts].map(([accountId, of]) => ({ accountId, commands: of.map(({ commandId }) => commandId) })),
    }),
    ...unansweredOf(missing),
  };
  return { kind: 'done', body };
}

function mergeReports(reports: readonly ProbeReport[]) {
  return {
    unresolved: reports.reduce((sum, { unresolved }) => sum + unresolved, 0),
    probes: reports.reduce((sum, { probes }) => sum + probes, 0),
    resolved: reports.flatMap(({ resolved }) => [...resolved]),
    plan: reports.flatMap(({ plan }) => plan.map((each) => ({ ...each, commands: [...each.commands] }))),
  };
}
