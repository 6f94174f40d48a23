import type { NormalisedOrder } from '../../../types/records.d.ts';
import { type NewTerms, type TermName, termsOf } from '../../contract/replace-terms.ts';
import { typedIn } from '../parts/filter-fields.tsx';
import { predictionTimesInForce } from '../parts/ticket-words.ts';
import { changedTerms } from '../state/commands/order-actions.ts';

const labels: Readonly<Record<TermName, string>> = {
  quantity: 'Total quantity',
  price: 'Price',
  stopPx: 'Stop price',
  timeInForce: 'Time in force',
  expireTime: 'Ends at (UTC, as 2026-12-31T21:00:00Z)',
};

interface ReplaceFieldsProps {
  readonly order: NormalisedOrder;
  readonly wanted: NewTerms;
  readonly change: (wanted: NewTerms) => void;
}

/** The replaceable terms, and below them old → new for each change. */
export function ReplaceFields({ order, wanted, change }: ReplaceFieldsProps) {
  const timeInForce = wanted.timeInForce ?? order.timeInForce;
  const set = (name: TermName) => (event: Event) => {
    const value = typedIn(event);
    const { expireTime: _expireTime, ...others } = wanted;
    // An end belongs to orders with one; another time in force takes it away again.
    change(name === 'timeInForce' && value !== 'gtd' ? { ...others, [name]: value } : { ...wanted, [name]: value });
  };
  const terms = termsOf(order);
  const mayExpire = terms.some(({ name }) => name === 'expireTime');
  const shown = terms.filter(({ name }) => name !== 'expireTime' || timeInForce === 'gtd');
  return (
    <>
      <div class="form-pair">
        {shown.map(({ name, now }) => (
          <label key={name}>
            {labels[name]}
            {name === 'timeInForce' ? (
              <select value={timeInForce} onChange={set(name)}>
                {Object.entries(predictionTimesInForce).map(
                  ([word, text]) => (mayExpire || word !== 'gtd') && <option value={word}>{text}</option>,
                )}
              </select>
            ) : (
              <input
                value={wanted[name] ?? now}
                autocomplete="off"
                spellcheck={false}
                inputmode={name === 'expireTime' ? 'text' : 'decimal'}
                onInput={set(name)}
              />
            )}
          </label>
        ))}
      </div>
      {changesOf(order, wanted)}
    </>
  );
}

function changesOf(order: NormalisedOrder, wanted: NewTerms) {
  const changes = changedTerms(order, wanted);
  if (changes.length === 0) return <p class="hint">Change at least one term.</p>;
  return (
    <ul aria-label="Old and new terms">
      {changes.map(({ name, now, to }) => (
        <li key={name}>
          <span class="soft">{labels[name].replace(/ \(.*/, '')}</span> <s>{now === '' ? 'none' : now}</s> → <b>{to}</b>
        </li>
      ))}
    </ul>
  );
}
