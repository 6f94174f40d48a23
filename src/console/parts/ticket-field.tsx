import { useState } from 'preact/hooks';
import { typedIn } from './filter-fields.tsx';

interface FieldProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  readonly change: (value: string) => void;
  /** From the service, below the field. */
  readonly fault?: string | undefined;
  readonly hint?: string;
  readonly disabled: boolean;
  /** Words by value: a choice instead of text. */
  readonly choices?: Readonly<Record<string, string>>;
  readonly decimal?: boolean;
  /** To choose from, beside typing. */
  readonly known?: () => readonly string[];
}

/** A longer list than this is not looked through. */
const mostOffered = 50;

/** One field with its label, and the fault the service found in it. */
export function TicketField(props: FieldProps) {
  const { id, label, value, change, fault, hint, disabled, choices, decimal, known } = props;
  const [offered, setOffered] = useState<readonly string[]>([]);
  const about = fault === undefined ? (hint === undefined ? undefined : `${id}-hint`) : `${id}-fault`;
  const input = (event: Event) => change(typedIn(event));
  const shared = {
    id,
    disabled,
    value,
    'aria-invalid': fault === undefined ? undefined : true,
    'aria-describedby': about,
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {choices === undefined ? (
        <input
          {...shared}
          maxlength={128}
          autocomplete="off"
          spellcheck={false}
          inputmode={decimal === true ? 'decimal' : 'text'}
          list={`${id}-known`}
          onFocus={() => known && setOffered(known())}
          onInput={input}
        />
      ) : (
        <select {...shared} onChange={input}>
          {Object.entries(choices).map(([word, text]) => (
            <option value={word}>{text}</option>
          ))}
        </select>
      )}
      {known && (
        <datalist id={`${id}-known`}>
          {offered
            .filter((each) => each.startsWith(value.trim().toUpperCase()))
            .slice(0, mostOffered)
            .map((each) => (
              <option value={each} />
            ))}
        </datalist>
      )}
      {fault === undefined ? (
        hint !== undefined && (
          <span class="hint" id={`${id}-hint`}>
            {hint}
          </span>
        )
      ) : (
        <span class="fault" id={`${id}-fault`}>
          {fault}
        </span>
      )}
    </div>
  );
}
