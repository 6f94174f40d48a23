import { useMemo } from 'preact/hooks';
import { orderFilters } from '../../contract/list-filters.ts';
import { accountText } from '../../domain/streams.ts';
import { useConsole } from '../parts/console.ts';
import { AddressFilters } from '../parts/filter-fields.tsx';
import { orderLink } from '../parts/link.tsx';
import { panelNote } from '../parts/notes.tsx';
import { instrumentText, sideMark, sizeText } from '../parts/order-text.tsx';
import { saveCsv } from '../parts/save-csv.ts';
import { number, Table } from '../parts/table.tsx';
import { textWidth } from '../parts/text-width.ts';
import { Time } from '../parts/time-text.tsx';
import { useValue } from '../parts/use-value.ts';
import { useWhileShown } from '../parts/use-while-shown.ts';
import { statusWords } from '../parts/words.ts';
import type { Place } from '../state/address.ts';
import { RiskWatch } from '../state/commands/risk-watch.ts';
import { filtersIn } from '../state/filter-address.ts';
import { defaultView, filterOf } from '../state/orders/blotter-view.ts';
import { FillList, type FillRow } from '../state/orders/fill-list.ts';
import { roundedAverage } from '../state/orders/order-columns.ts';
import { fillsCsv } from '../state/orders/order-csv.ts';
import { amountParts, amountText, placesOf } from '../state/text/decimal-text.ts';
import { plural } from '../state/text/word-text.ts';
import { amountCell } from './blotter-columns.tsx';
import { Exposure } from './exposure.tsx';

const { open: _open, ...fillFilters } = orderFilters;
const mostShown = 200;

/** All orders' newest fills, and the exposure beside them. */
export function Fills({ query }: Place) {
  const state = useConsole();
  const list = useMemo(() => new FillList(state), []);
  const watch = useMemo(() => new RiskWatch(state), []);
  const hasBegun = useValue(state.beginnings) > 0;
  const version = useValue(list.version);
  const isReading = useValue(list.isReading);
  useWhileShown((signal) => hasBegun && list.follow(state.stream.lastId ?? '0', signal), [list, hasBegun]);
  useWhileShown((signal) => watch.listen(signal), [watch]);
  const filters = filtersIn(fillFilters, query);
  const words = { status: statusWords, stream: state.session.streamWords };
  // Once for each change: the page is drawn for other reasons too.
  const fills = useMemo(() => {
    const wanted = filterOf({ ...defaultView, ...filters, openOnly: false });
    return list.fills.filter(({ row }) => wanted(row)).reverse();
  }, [list, version, query.toString()]);
  const shown = fills.slice(0, mostShown);
  return (
    <section class="screen fills" aria-label="Fills">
      <div class="screen-head">
        <h1>Fills</h1>
        <span class="count" role="status">
          {plural(fills.length, 'fill')}{' '}
          {list.since !== undefined && (
            <>
              since <Time at={list.since} />
            </>
          )}
          {isReading && ', reading …'}
        </span>
        <button title="Save the fills of this view" onClick={() => saveCsv('fills', fillsCsv(fills), state.ports)}>
          CSV
        </button>
      </div>
      <AddressFilters screen="fills" filters={fillFilters} query={query} words={words} live />
      {fills.length === 0 ? (
        <p class="empty">
          {isReading ? 'Reading fills …' : 'No fill among the newest changes. An order’s page has all of its fills.'}
        </p>
      ) : (
        <div class="panel fill-list" style={roomsOf(shown)}>
          <Table label="Fills" head={head}>
            {shown.map(lineOf)}
          </Table>
          {fills.length > mostShown && panelNote(`${plural(fills.length - mostShown, 'older fill')} in the CSV.`)}
        </div>
      )}
      <Exposure watch={watch} />
    </section>
  );
}

const head = ['Instrument', 'Side', number('Quantity'), number('Price'), 'Time', 'Account', number('Filled'), 'Order'];

/** Of an inferred fill it is an average, and would push its heading away from the other prices. */
function shownPrice({ row, price, inferred }: FillRow): string | undefined {
  return inferred ? roundedAverage(price, placesOf(row.order.price)) : price;
}

function lineOf(fill: FillRow) {
  const { row, atText, quantity, inferred, takenBack } = fill;
  const price = shownPrice(fill);
  const { order, revision } = row;
  return (
    <tr key={`${row.key} ${revision}`}>
      <td>
        <span class="fill-name">{instrumentText(order.instrument)}</span>
      </td>
      <td>{sideMark(order.side)}</td>
      <td
        class="number"
        aria-label={`${takenBack ? 'taken back ' : ''}${inferred ? 'inferred ' : ''}${amountText(quantity)}`}
      >
        {takenBack && <span class="doubt">taken back </span>}
        {inferred && (
          <span class="soft" title="Inferred: several fills may be merged in it, or a gap lies between">
            ~
          </span>
        )}
        {amountCell('quantity', quantity)}
      </td>
      <td class="number" aria-label={amountText(price, 2)}>
        {amountCell('price', price, price === undefined ? 0 : placesOf(price), undefined, fill.price)}
      </td>
      <td class="account">
        <Time at={atText} />
      </td>
      <td class="account">{accountText(row)}</td>
      <td class="number">{`${amountText(order.cumQty)} / ${sizeText(order)}`}</td>
      <td class="account">{orderLink(row)}</td>
    </tr>
  );
}

/** The room behind the points, so that they stand below each other. */
function roomsOf(fills: readonly FillRow[]): Record<string, string> {
  const room = (texts: readonly (string | undefined)[], least: number) =>
    `${Math.max(0, ...texts.map((text = '') => textWidth(amountParts(text, least).fraction, 'plain')))}rem`;
  return {
    '--quantity': room(
      fills.map(({ quantity }) => quantity),
      0,
    ),
    '--price': room(fills.map(shownPrice), 2),
  };
}
