import type { ComponentChildren, VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { NormalisedOrder } from '../../../types/records.d.ts';
import type { CommandHistory } from '../../contract/rest-answers.ts';
import { accountText } from '../../domain/streams.ts';
import { termsText } from '../../domain/terms-text.ts';
import { commandStateText, commandTone, reasonText, stateMeaning } from '../parts/command-words.ts';
import { useConsole } from '../parts/console.ts';
import { type Fact, Facts } from '../parts/facts.tsx';
import { commandLink, Link, orderLink } from '../parts/link.tsx';
import { followedNote } from '../parts/notes.tsx';
import { fillBar } from '../parts/order-text.tsx';
import { Time } from '../parts/time-text.tsx';
import { useValue } from '../parts/use-value.ts';
import { useAnswer, useWhileShown } from '../parts/use-while-shown.ts';
import { statusText } from '../parts/words.ts';
import { addressOf, commandsAddress, type Place } from '../state/address.ts';
import { CommandFollower } from '../state/commands/command-follower.ts';
import type { ListedOrder } from '../state/orders/order-row.ts';
import type { Answer } from '../state/rest.ts';
import { amountText } from '../state/text/decimal-text.ts';
import { CommandActionBar } from './command-actions.tsx';
import { CommandTimeline } from './command-timeline.tsx';
import { CommandVerdict } from './command-verdict.tsx';

/**
 * One command: its result with the facts behind it, the actions, and everything that happened by
 * attempt.
 */
export function CommandPage({ params: { commandId = '' } }: Place) {
  const state = useConsole();
  const watch = useMemo(() => new CommandFollower(state, commandId), [commandId]);
  const shown = useValue(watch.state);
  const beginning = useValue(state.beginnings);
  const [note, setNote] = useState<ComponentChildren>();
  useWhileShown(
    (signal) => {
      state.results.add((result) => watch.takeResult(result), signal);
      state.updates.add((update) => watch.takeUpdate(update), signal);
      return watch.follow(signal);
    },
    [watch, beginning],
  );
  if (shown.kind !== 'shown') return followedNote(shown, 'command', addressOf('commands'));
  const { command, stale } = shown;
  return (
    <article class="screen command">
      {headOf(command)}
      {stale !== undefined && (
        <p class="note" role="alert">
          {stale} The page shows the last answer.
        </p>
      )}
      <CommandVerdict command={command} />
      <CommandActionBar command={command} done={() => watch.readAgain()} say={setNote} />
      {note !== undefined && (
        <p class="note calm" role="status">
          <span>{note}</span>
        </p>
      )}
      <CommandFacts command={command} />
      <h2>What happened</h2>
      <CommandTimeline command={command} />
    </article>
  );
}

function headOf(command: CommandHistory): VNode {
  const { commandId, kind, state, terms, presumedAbsent } = command;
  return (
    <header class="order-head">
      <p class="crumb">
        <Link to={addressOf('commands')}>Commands</Link> / <span class="id">{commandId}</span>
      </p>
      <h1>
        <span>
          {kind === 'cancel'
            ? 'Cancel of an order'
            : `${kind === 'place' ? 'Place:' : 'Replace'} ${termsText(kind, terms)}`}
        </span>
        <span class={`status ${commandTone(state)}`}>{commandStateText(state)}</span>
        {presumedAbsent && <span class="doubt">presumed absent</span>}
      </h1>
      <p class="soft">
        Account {accountText(command)}. {stateMeaning(command)}
      </p>
    </header>
  );
}

const noOrder: Answer<undefined> = { kind: 'ok', status: 200, body: undefined };

/** The order is read with each answer, since it may have ended before the visit. */
function CommandFacts({ command }: { readonly command: CommandHistory }) {
  const { rest } = useConsole();
  const { stream, orderId } = command;
  const path = `/v1/orders/${stream}/${encodeURIComponent(orderId ?? '')}`;
  const read = useAnswer<ListedOrder | undefined>(
    (signal) => (orderId === undefined ? Promise.resolve(noOrder) : rest.get<ListedOrder>(path, {}, signal)),
    [command],
  );
  const order = read?.kind === 'ok' ? read.body?.order : undefined;
  // The platform may have given the id to another order since.
  const isOwn = command.kind !== 'place' || order?.commandId === command.commandId;
  return factsOf(command, isOwn ? order : undefined);
}

function factsOf(command: CommandHistory, order: NormalisedOrder | undefined): VNode {
  const {
    stream,
    orderId,
    orderStatus,
    replaces,
    callerRef,
    supersedes,
    hints = [],
    baseline,
    reason,
    misses,
  } = command;
  const link = (id: string) => orderLink({ stream, orderId: id });
  const facts: readonly Fact[] = [
    [
      'Order',
      orderId === undefined ? (
        'none seen with its reference'
      ) : (
        <>
          {link(orderId)}
          {orderStatus !== undefined && <> {statusText(orderStatus)}</>}
        </>
      ),
    ],
    ['Replaces', replaces && link(replaces)],
    ['Filled', order && fillBar(order)],
    ['Average price', order?.avgPrice && amountText(order.avgPrice)],
    ['Reason', reason && reasonText(reason)],
    ['Asked by', command.principal],
    ['Caller’s reference', callerRef && <Link to={commandsAddress({ callerRef })}>{callerRef}</Link>],
    ['Idempotency key', command.idempotencyKey],
    ['Asked', <Time at={command.createdAt} />],
    ['Resolved', command.resolvedAt && <Time at={command.resolvedAt} />],
    ['Reads that did not show it', misses === 0 ? undefined : String(misses)],
    ['Order before', baseline && beforeText(baseline)],
    ['Takes the place of', supersedes && commandLink(supersedes)],
    [
      'Orders with the same terms',
      hints.length === 0 ? undefined : (
        <>
          {hints.map((id) => (
            <>{link(id)} </>
          ))}
          <span class="hint">A hint, never a proof: another program may have placed them.</span>
        </>
      ),
    ],
  ];
  return <Facts facts={facts} long={longFacts} />;
}

/** These take the room of two. */
const longFacts = ['Reason', 'Orders with the same terms'];

function beforeText({ status, working, cumQty, revision }: NonNullable<CommandHistory['baseline']>): string {
  if (revision === 0) return 'nothing was known of it';
  const price = working.price === undefined ? '' : ` @ ${working.price}`;
  return `${statusText(status)}, ${working.quantity ?? 'an amount'}${price}, ${cumQty} filled`;
}
