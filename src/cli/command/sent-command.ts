import type { Command } from 'commander';
import type { z } from 'zod';
import { type CommandAnswer, commandAnswer } from '../../contract/rest-answers.ts';
import { exitCodes } from '../../runtime/program-error.ts';
import { positiveNumber } from '../io/flag-text.ts';
import { linesText } from '../io/format-text.ts';
import type { CliIo } from '../io/io.ts';
import { fixOfCode } from '../rest/rest-client.ts';
import type { Sent } from '../rest/verb.ts';

/** The part of a command shown to its sender. */
export const sentAnswer = commandAnswer.pick({
  commandId: true,
  result: true,
  orderId: true,
  orderStatus: true,
  reason: true,
  advice: true,
});
type SentCommand = z.infer<typeof sentAnswer>;

/** `place`, `replace` and `cancel` are answered alike. */
export const sentFields = {
  keyed: true,
  about: 'a command',
  answer: sentAnswer,
  text: sentText,
  end: (io: CliIo, { result }: SentCommand, _flags: object, { isOpen }: Sent) => {
    const tookEffect = result === 'accepted' || result === 'applied';
    io.exit(isOpen ? exitCodes.unresolved : tookEffect ? exitCodes.ok : exitCodes.failed);
  },
} as const;

function sentText(command: SentCommand, _flags: object, _io: CliIo, { isOpen, replayed }: Sent): string {
  const { commandId, result, reason, advice } = command;
  const order = orderOf(command);
  const lines = [
    `${result}  command ${commandId}${order === undefined ? '' : `  order ${order}`}${replayed ? '  (sent before with this key)' : ''}`,
  ];
  if (reason !== undefined) lines.push(`  ${reason.message} (${reason.code})`);
  // The platform has the same code for an unknown order, and the same fix applies.
  if (result === 'refused' && reason?.code === 'ORDER_NOT_FOUND') lines.push(`  ${fixOfCode[reason.code]}`);
  if (advice !== undefined) lines.push(`  ${advice}`);
  if (isOpen) lines.push(`  tidemark command show ${commandId}`);
  return linesText(lines);
}

export interface RevisionFlags {
  readonly ifRevision?: number;
}

export function addRevisionFlag(command: Command): Command {
  return command.option('--if-revision <n>', 'only while the order is at this revision of ours', positiveNumber);
}

export function ifMatch(at: number | undefined): Readonly<Record<string, string>> {
  return at === undefined ? {} : { 'if-match': `"${at}"` };
}

/** The order's id, with its status if known. */
export function orderOf({ orderId, orderStatus }: Pick<CommandAnswer, 'orderId' | 'orderStatus'>): string | undefined {
  return orderStatus === undefined ? orderId : `${orderId} (${orderStatus})`;
}
