import { useEffect } from 'preact/hooks';
import type { AccountListDocument } from '../../contract/account-answers.ts';
import { accountText } from '../../domain/streams.ts';
import { TicketField } from '../parts/ticket-field.tsx';
import {
  accountSides,
  accountTimesInForce,
  accountTypes,
  outcomes,
  positionEffects,
  predictionSides,
  predictionTimesInForce,
  predictionTypes,
  withNone,
} from '../parts/ticket-words.ts';
import type { Ticket } from '../state/commands/ticket.ts';
import {
  accountOf,
  accountsFor,
  emptyLeg,
  fieldsShown,
  mostLegs,
  namedStream,
  type TicketFields,
  type TicketLeg,
} from '../state/commands/ticket-body.ts';

interface TicketFormProps {
  readonly ticket: Ticket;
  readonly fields: TicketFields;
  /** By field. */
  readonly faults: ReadonlyMap<string, string>;
  readonly accounts: AccountListDocument['items'];
  /** Those of known orders of the ticket's kind. */
  readonly symbols: (ofLegs: boolean) => readonly string[];
}

/** The fields for the ticket's choices. */
export function TicketForm({ ticket, fields, faults, accounts, symbols }: TicketFormProps) {
  const shown = fieldsShown(fields);
  const isPrediction = fields.kind === 'prediction';
  const disabled = !ticket.mayChange();
  const offered = accountsFor(fields, accounts);
  const account = accountOf(fields, offered);
  const stream = account === undefined ? fields.stream : namedStream(account.stream);
  useEffect(() => {
    if (stream !== fields.stream) ticket.set({ stream });
  }, [stream, fields.stream]);
  const field = (name: Exclude<keyof TicketFields, 'kind' | 'legs'>, label: string, more: object = {}) => (
    <TicketField
      key={name}
      id={`ticket-${name}`}
      label={label}
      value={fields[name]}
      disabled={disabled}
      fault={faults.get(name)}
      change={(value) => ticket.set({ [name]: value })}
      {...more}
    />
  );
  return (
    <>
      <div class="form-pair">
        {field('accountId', 'Account', accountChoices(ticket, offered, account))}
        {field('symbol', fields.kind === 'option' ? 'Underlying' : isPrediction ? 'Market' : 'Symbol', {
          known: () => symbols(false),
        })}
        {shown.outcome && field('outcome', 'Outcome', { choices: withNone('an outcome', outcomes) })}
        {shown.side &&
          field('side', 'Side', { choices: withNone('a side', isPrediction ? predictionSides : accountSides) })}
        {field('quantity', shown.legs ? 'Quantity of the whole' : 'Quantity', { decimal: true })}
        {field('type', 'Type', { choices: isPrediction ? predictionTypes : accountTypes })}
        {shown.price &&
          field('price', fields.legs.length > 1 && shown.legs ? 'Net price' : 'Price', {
            decimal: true,
            ...(isPrediction && { hint: 'Between 0 and 1' }),
          })}
        {shown.stopPrice && field('stopPrice', 'Stop price', { decimal: true })}
        {field('timeInForce', 'Time in force', {
          choices: isPrediction ? predictionTimesInForce : accountTimesInForce,
        })}
        {shown.hours &&
          field('hours', 'Hours', { choices: { '': 'Regular session', extended: 'Also before and after it' } })}
        {shown.expireTime && field('expireTime', 'Ends at', { hint: 'With its zone, as 2026-12-31T21:00:00Z' })}
        {field('reference', 'Your reference', { hint: 'May be left out; it comes back with every update' })}
      </div>
      {shown.legs && (
        <TicketLegs
          legs={fields.legs}
          symbols={() => symbols(true)}
          disabled={disabled}
          faults={faults}
          change={(legs) => ticket.set({ legs })}
        />
      )}
      {fields.supersedes !== '' && (
        <p class="hint">
          Takes the place of the presumed absent command <span class="id">{fields.supersedes}</span>.
          {faults.has('supersedes') && <span class="fault"> {faults.get('supersedes')}</span>}
        </p>
      )}
    </>
  );
}

/**
 * Accounts open to orders of this kind, each said to be simulated or real; any text if the list
 * could not be read.
 */
function accountChoices(
  ticket: Ticket,
  offered: ReturnType<typeof accountsFor>,
  chosen: ReturnType<typeof accountOf>,
): object {
  if (offered.size === 0) return {};
  const { accountId } = ticket.fields.peek();
  const unknown = accountId === '' || chosen !== undefined ? [] : [[accountId, accountId]];
  const known = [...offered].map(([text, { isSim }]) => [text, `${text}, ${isSim ? 'simulated' : 'real money'}`]);
  const change = (text: string) => {
    const { accountId: id = text, stream } = offered.get(text) ?? {};
    ticket.set({ accountId: id, stream: stream === undefined ? '' : namedStream(stream) });
  };
  return {
    value: chosen === undefined ? accountId : accountText(chosen),
    change,
    choices: withNone('an account', Object.fromEntries([...unknown, ...known])),
  };
}

interface TicketLegsProps {
  readonly legs: readonly TicketLeg[];
  readonly symbols: () => readonly string[];
  readonly disabled: boolean;
  readonly faults: ReadonlyMap<string, string>;
  readonly change: (legs: readonly TicketLeg[]) => void;
}

/** The legs of an option order, one to four. */
function TicketLegs({ legs, symbols, disabled, faults, change }: TicketLegsProps) {
  const set = (at: number, over: Partial<TicketLeg>) =>
    change(legs.map((leg, i) => (i === at ? { ...leg, ...over } : leg)));
  return (
    <fieldset class="legs">
      <legend>Legs</legend>
      {legs.map((leg, at) => legOf(leg, at))}
      {legs.length < mostLegs && (
        <button type="button" disabled={disabled} onClick={() => change([...legs, emptyLeg])}>
          Add a leg
        </button>
      )}
    </fieldset>
  );

  function legOf(leg: TicketLeg, at: number) {
    const field = (name: keyof TicketLeg, label: string, more: object = {}) => (
      <TicketField
        id={`ticket-leg-${at}-${name}`}
        label={label}
        value={leg[name]}
        disabled={disabled}
        fault={faults.get(`legs[${at}].${name}`)}
        change={(value) => set(at, { [name]: value })}
        {...more}
      />
    );
    return (
      <div class="leg" role="group" aria-label={`Leg ${at + 1}`} key={at}>
        {field('symbol', 'Option symbol', { known: symbols, ...(at === 0 && { hint: 'As AAPL261218C00200000' }) })}
        {field('side', 'Side', { choices: withNone('a side', accountSides) })}
        {field('ratioQty', 'Ratio', { decimal: true })}
        {field('positionEffect', 'Position', { choices: positionEffects })}
        {legs.length > 1 && (
          <button
            type="button"
            class="quiet"
            disabled={disabled}
            aria-label={`Remove leg ${at + 1}`}
            onClick={() => change(legs.filter((_, i) => i !== at))}
          >
            Remove
          </button>
        )}
      </div>
    );
  }
}
