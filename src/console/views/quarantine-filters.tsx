import type { VNode } from 'preact';
import { useValue } from '../parts/use-value.ts';
import type { ConsoleState } from '../state/console-state.ts';
import type { QuarantineFilter } from '../state/quarantine-list.ts';

interface FilterProps {
  readonly state: ConsoleState;
  readonly filter: QuarantineFilter;
  readonly change: (filter: QuarantineFilter) => void;
}

/** The filters of the quarantine: the present reasons, each with its count. */
export function QuarantineFilters({ state, filter, change }: FilterProps) {
  const { status } = useValue(state.status.state);
  const reasons = new Map<string, number>();
  for (const { reason, rows } of status?.quarantine ?? []) reasons.set(reason, (reasons.get(reason) ?? 0) + rows);
  if (filter.reason !== undefined && !reasons.has(filter.reason)) reasons.set(filter.reason, 0);
  const { stream: _stream, ...anyStream } = filter;
  const { reason: _reason, ...anyReason } = filter;
  const { accountId: _account, ...anyAccount } = filter;
  const textOf = (event: Event) => (event.target as HTMLInputElement | HTMLSelectElement).value;
  return (
    <search class="filters">
      <input
        type="search"
        aria-label="Account"
        placeholder="Account"
        value={filter.accountId ?? ''}
        maxlength={50}
        autocomplete="off"
        spellcheck={false}
        onChange={(event: Event) => change(textOf(event) === '' ? anyAccount : { ...filter, accountId: textOf(event) })}
      />
      {pick(
        'Stream',
        filter.stream,
        ['account', 'prediction'].map((name) => [name, name]),
        (stream) => change(stream === 'account' || stream === 'prediction' ? { ...filter, stream } : anyStream),
      )}
      {pick(
        'Reason',
        filter.reason,
        [...reasons].map(([reason, rows]) => [reason, `${reason} (${rows})`]),
        (reason) => change(reason === '' ? anyReason : { ...filter, reason }),
      )}
    </search>
  );
}

function pick(
  label: string,
  value: string | undefined,
  choices: readonly (readonly string[])[],
  change: (value: string) => void,
): VNode {
  return (
    <select
      aria-label={label}
      class={value === undefined ? 'unset' : ''}
      value={value ?? ''}
      onChange={(event: Event) => change((event.target as HTMLSelectElement).value)}
    >
      <option value="">{label}</option>
      {choices.map(([name, words]) => (
        <option value={name}>{words}</option>
      ))}
    </select>
  );
}
