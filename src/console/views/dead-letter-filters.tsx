import { choiceFilter, textFilter, typedIn } from '../parts/filter-fields.tsx';
import { useValue } from '../parts/use-value.ts';
import type { ConsoleState } from '../state/console-state.ts';
import { type DeadLetterFilter, streamOf } from '../state/dead-letter-list.ts';

interface FilterProps {
  readonly state: ConsoleState;
  readonly filter: DeadLetterFilter;
  readonly change: (filter: DeadLetterFilter) => void;
}

/** The filters of the dead letters: the present reasons, each with its count. */
export function DeadLetterFilters({ state, filter, change }: FilterProps) {
  const { status } = useValue(state.status.state);
  const reasons = new Map<string, number>();
  for (const { reason, rows } of status?.deadLetters ?? []) reasons.set(reason, (reasons.get(reason) ?? 0) + rows);
  if (filter.reason !== undefined && !reasons.has(filter.reason)) reasons.set(filter.reason, 0);
  const { stream: _stream, ...anyStream } = filter;
  const { reason: _reason, ...anyReason } = filter;
  const { accountId: _account, ...anyAccount } = filter;
  return (
    <search class="filters">
      {textFilter('Account', filter.accountId, {
        maxlength: 50,
        onChange: (event: Event) => {
          const accountId = typedIn(event);
          change(accountId === '' ? anyAccount : { ...filter, accountId });
        },
      })}
      {choiceFilter('Stream', filter.stream, state.session.streamWords, (word) =>
        change({ ...anyStream, ...streamOf(word) }),
      )}
      {choiceFilter(
        'Reason',
        filter.reason,
        [...reasons].map(([reason, rows]) => [reason, `${reason} (${rows})`] as const),
        (reason) => change(reason === '' ? anyReason : { ...filter, reason }),
      )}
    </search>
  );
}
