import type { CommandHistory } from '../../../contract/rest-answers.ts';
import { isTerminal } from '../../../domain/order.ts';
import type { Session } from '../session.ts';
import type { Choices } from '../text/word-text.ts';

/** The results a person may give to a command, each with its meaning. */
export function resolutions(kind: CommandHistory['kind']): Choices {
  if (kind === 'place')
    return [
      ['applied', 'Applied: the order was placed'],
      ['rejected', 'Rejected: the platform or the venue did not take it'],
      ['not_sent', 'Not sent: it never reached the platform'],
    ];
  const thing = kind === 'replace' ? 'the new terms' : 'the cancel';
  return [
    ['applied', `Applied: ${thing} took effect`],
    ['rejected', `Rejected: ${thing} had no effect, and the order works on`],
    ['moot', 'Moot: the order had ended before'],
    ['not_sent', 'Not sent: it never reached the platform'],
  ];
}

/** The actions that make sense now, within this reader's rights. */
interface CommandActions {
  readonly probe: boolean;
  readonly resolve: boolean;
  readonly cancel: boolean;
  /** Not while the result is unknown: a second one could be one too many. */
  readonly another: boolean;
}

export function actionsOf(
  { state, orderId, orderStatus, kind, unresolved }: CommandHistory,
  session: Pick<Session, 'may' | 'mayCommand'>,
): CommandActions {
  const mayOperate = session.may('ops:write');
  const isOpenOrder = orderId !== undefined && orderStatus !== undefined && !isTerminal(orderStatus);
  // The platform is not asked about a place once its order is there: the stream brings the rest.
  const isAskedAbout = state === 'unknown' || (state === 'accepted' && !(kind === 'place' && orderId !== undefined));
  return {
    probe: mayOperate && isAskedAbout,
    resolve: mayOperate && (state === 'unknown' || state === 'accepted' || state === 'conflict'),
    cancel: session.mayCommand() && isOpenOrder,
    another: session.mayCommand() && kind === 'place' && !unresolved,
  };
}
