import { orderFilters } from '../../contract/list-filters.ts';
import { FilterFields, flagFilter } from '../parts/filter-fields.tsx';
import { statusWords } from '../parts/words.ts';
import { type BlotterView, isFiltered, withoutFilters } from '../state/orders/blotter-view.ts';
import { ColumnMenu } from './column-menu.tsx';

interface FilterProps {
  readonly view: BlotterView;
  readonly change: (over: Partial<BlotterView>) => void;
  /** To choose from, beside typing. */
  readonly accounts: () => readonly string[];
}

const words = {
  status: statusWords,
  origin: [
    ['tidemark', 'Tidemark'],
    ['external', 'elsewhere'],
  ],
} as const;

/** The blotter's filters. Each change is a new address. */
export function BlotterFilters({ view, change, accounts }: FilterProps) {
  return (
    <search class="filters">
      <FilterFields {...{ filters: orderFilters, values: view, change, words, accounts }} live />
      {flagFilter(orderFilters.open.label, view.openOnly, () => change({ openOnly: !view.openOnly }))}
      <ColumnMenu view={view} change={change} />
      {isFiltered(view) && (
        <button class="quiet" onClick={() => change(withoutFilters())}>
          Clear filters
        </button>
      )}
    </search>
  );
}
