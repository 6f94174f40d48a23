import { TicketField } from '../parts/ticket-field.tsx';
import { accountSides, positionEffects, withNone } from '../parts/ticket-words.ts';
import { emptyLeg, mostLegs, type TicketLeg } from '../state/commands/ticket-body.ts';

interface TicketLegsProps {
  readonly legs: readonly TicketLeg[];
  readonly symbols: () => readonly string[];
  readonly disabled: boolean;
  readonly faults: ReadonlyMap<string, string>;
  readonly change: (legs: readonly TicketLeg[]) => void;
}

/** The legs of an option order, one to four. */
export function TicketLegs({ legs, symbols, disabled, faults, change }: TicketLegsProps) {
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
