import { orderFilters } from '../../contract/list-filters.ts';
import { FilterFields, flagFilter } from '../parts/filter-fields.tsx';
import { Menu } from '../parts/menu.tsx';
import { useScrollEnds } from '../parts/use-scroll-ends.ts';
import { statusWords } from '../parts/words.ts';
import {
  type BlotterView,
  type ChangeView,
  defaultView,
  isFiltered,
  withColumn,
  withoutFilters,
} from '../state/orders/blotter-view.ts';
import { type ColumnName, columnNames, columnOf } from '../state/orders/order-columns.ts';
import { type GroupPart, groupParts } from '../state/orders/order-groups.ts';
import type { Session } from '../state/session.ts';

interface FilterProps {
  readonly view: BlotterView;
  readonly change: ChangeView;
  /** To choose from, beside typing. */
  readonly accounts: () => readonly string[];
  readonly streams: Session['streamWords'];
}

const words = {
  status: statusWords,
  origin: [
    ['tidemark', 'Tidemark'],
    ['external', 'elsewhere'],
  ],
} as const;

const partLabels: Readonly<Record<GroupPart, string>> = { account: 'Account', symbol: 'Instrument', side: 'Side' };

/** The blotter's filters. Each change is a new address. */
export function BlotterFilters({ view, change, accounts, streams }: FilterProps) {
  const line = useScrollEnds();
  const turned = (part: GroupPart) => ({
    group: groupParts.filter((other) => view.group.includes(other) !== (other === part)),
  });
  return (
    <search class="filters" ref={line}>
      <FilterFields
        {...{ filters: orderFilters, values: view, change, accounts }}
        words={{ ...words, stream: streams }}
        live
      />
      {flagFilter(orderFilters.open.label, view.openOnly, () => change({ openOnly: !view.openOnly }))}
      <Menu label={view.group.length > 0 ? `Group (${view.group.length})` : 'Group'} class="groups">
        {groupParts.map((part) => flagFilter(partLabels[part], view.group.includes(part), () => change(turned(part))))}
        {flagFilter('Sums only', view.sumsOnly, () => change({ sumsOnly: !view.sumsOnly }))}
      </Menu>
      <ColumnMenu view={view} change={change} />
      {isFiltered(view) && (
        <button class="quiet" onClick={() => change(withoutFilters())}>
          Clear filters
        </button>
      )}
    </search>
  );
}

/** The columns to choose. */
function ColumnMenu({ view, change }: Pick<FilterProps, 'view' | 'change'>) {
  const isUsual = view.columns === defaultView.columns && Object.keys(view.widths).length === 0;
  return (
    <Menu label="Columns" class="columns">
      {columnNames.map((name) => columnChoice(name, view, change))}
      <button disabled={isUsual} onClick={() => change({ columns: defaultView.columns, widths: {} })}>
        Usual columns
      </button>
    </Menu>
  );
}

function columnChoice(name: ColumnName, { columns }: BlotterView, change: ChangeView) {
  const shown = columns.includes(name);
  const toggle = () => {
    const wanted = shown ? columns.filter((other) => other !== name) : withColumn(columns, name);
    if (wanted.length > 0) change({ columns: wanted });
  };
  return flagFilter(columnOf(name).label, shown, toggle, name === 'outcome' && columns.includes('instrument'));
}
