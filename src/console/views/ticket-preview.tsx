import { useEffect, useMemo } from 'preact/hooks';
import type { PreviewAnswer } from '../../contract/preview-answer.ts';
import { useConsole } from '../parts/console.ts';
import { Table } from '../parts/table.tsx';
import { useValue } from '../parts/use-value.ts';
import { fieldText } from '../parts/words.ts';
import type { TicketFields } from '../state/commands/ticket-body.ts';
import { OrderPreview, type PreviewState, type Question } from '../state/order-preview.ts';
import { ageText } from '../state/text/age-text.ts';
import { amountText, plainNumber } from '../state/text/decimal-text.ts';
import { crossingOf, farPriceOf, isWildSize, largestKnown, tradedIn } from '../state/ticket-preview.ts';

/**
 * The service's word on a place or a replace. `question` is another object where it asks something
 * else. `isOver`: it is under way, or was sent, and nothing more is asked about it.
 */
export function usePreview(question: Question | undefined, isOver: boolean): PreviewState {
  const state = useConsole();
  const preview = useMemo(() => new OrderPreview(state), []);
  useEffect(() => {
    if (isOver) preview.close();
    else void preview.ask(question);
  }, [question, isOver]);
  useEffect(() => () => preview.close(), [preview]);
  return useValue(preview.state);
}

interface PreviewProps extends PreviewState {
  readonly kind: 'place' | 'replace';
}

/** Quotes, value and limits, and what would refuse it, before anything is sent. */
export function Preview({ kind, said, isWhole = false, saidAtMs = 0, isOld, note }: PreviewProps) {
  const sinceMs = useConsole().ports.monotonicMs() - saidAtMs;
  return (
    <div class="panel panel-body comes-to" aria-busy={isOld} data-old={isOld}>
      <h2>What it comes to</h2>
      {note !== undefined && <p class="soft">{note}</p>}
      {said !== undefined && isWhole && refusalsOf(said, kind)}
      {said !== undefined && factsOf(said, sinceMs, isWhole, kind)}
      {!isWhole && note === undefined && <p class="hint">{hints[kind]}</p>}
    </div>
  );
}

const hints = {
  place:
    'The quote needs an account and a symbol. The value and the limits are shown once the fields are filled in. Nothing is sent by that.',
  replace: 'The value and the limits are shown once a term is changed. Nothing is sent by that.',
} as const;

function factsOf(
  { quotes, value, noValue, limits, terms }: PreviewAnswer,
  sinceMs: number,
  isWhole: boolean,
  kind: PreviewProps['kind'],
) {
  return (
    <>
      <dl class="preview-facts">
        {quotes.length === 0 && (
          <>
            <dt>Quote</dt>
            <dd>none: the platform has no quotes of this market, so a price that crosses it is not noticed</dd>
          </>
        )}
        {quotes.map((quote) => (
          <>
            <dt>Quote {quote.symbol}</dt>
            <dd>{quoteText(quote, sinceMs)}</dd>
          </>
        ))}
        {isWhole && (
          <>
            <dt>Value</dt>
            <dd>
              {value === null
                ? `${kind === 'place' ? 'not known' : 'none counted'}: ${noValue ?? 'the service does not say why'}`
                : 'price' in terms
                  ? `${amountText(value)} USD at most`
                  : `about ${amountText(value)} USD`}
            </dd>
          </>
        )}
      </dl>
      {isWhole && (limits.length === 0 ? <p class="hint">No limit is set for this order.</p> : limitsOf(limits))}
    </>
  );
}

/** Said to readers of the screen too, as soon as it changes. */
function refusalsOf(said: PreviewAnswer, kind: PreviewProps['kind']) {
  const [it, sent] = kind === 'place' ? ['this order', 'placed'] : ['this replace', 'sent'];
  const words = refusalWords(said);
  const isQuoted = said.quotes.length > 0 && said.quotes.every(({ ageMs }) => ageMs !== undefined);
  if (words.length === 0)
    return (
      <p class="hint" role="status">
        {isQuoted
          ? `Nothing would refuse ${it} now.`
          : `Not checked by the platform, which gave no quote. The service itself would not refuse ${it} now.`}{' '}
        It is judged again when it is {sent}.
      </p>
    );
  return (
    <div class="fault" role="status">
      <p>The service would refuse {it} now:</p>
      <ul>
        {words.map((each) => (
          <li>{each}</li>
        ))}
      </ul>
    </div>
  );
}

function refusalWords({ refusals, limits }: PreviewAnswer): readonly string[] {
  return [
    ...limits.filter(({ broken }) => broken).map(limitWords),
    ...refusals
      .filter(({ code }) => !/^LIMITS?_/.test(code))
      .map(({ message }) => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`),
  ];
}

/** They hold for any order of the account, also for the one that asks for quotes alone. */
const ofAccount = ['PLACING_HALTED', 'SOURCE_NOT_LIVE', 'ACCOUNT_NOT_OPEN', 'ACCOUNT_NOT_TRADED'];

/** Why a place would be refused now, in one sentence; undefined as far as nothing is known. */
export function refusalOf({ said, isWhole = false, note }: PreviewState): string | undefined {
  if (note !== undefined || said === undefined) return note;
  const refusals = isWhole ? said.refusals : said.refusals.filter(({ code }) => ofAccount.includes(code));
  return refusalWords({ ...said, refusals, limits: isWhole ? said.limits : [] })[0];
}

/** The price beside the market that it meets, with the quote's age. */
export function crossingText(fields: TicketFields, { said, saidAtMs = 0 }: PreviewState, nowMs: number) {
  const met = crossingOf(fields, said?.quotes);
  if (met === undefined) return undefined;
  const { own, market, side, isLimit, ageMs = 0 } = met;
  const where = (side === 'ask') === isLimit ? 'above' : 'below';
  const effect = isLimit ? 'trade' : 'be triggered';
  return {
    words: `${isLimit ? 'The price' : 'The stop'} ${own} is at or ${where} the ${side} of ${market}, so the order may ${effect} at once.`,
    age: `That quote is ${ageText(ageMs + nowMs - saidAtMs)} old.`,
  };
}

/** A price or quantity that looks like a slip, each in one sentence. */
export function useWildWords(fields: TicketFields, { said }: PreviewState): readonly string[] {
  const { kind, symbol, legs } = fields;
  const state = useConsole();
  const read = useValue(state.openOrders);
  const largest = useMemo(() => largestKnown(fields, state.orders.rows.values()), [read, kind, symbol, legs]);
  const price = farPriceOf(fields, said?.quotes);
  const words: string[] = [];
  if (price !== undefined) {
    const { own, market, name, percent } = price;
    const apart = percent < 0n ? `${-percent} % below` : `${percent} % above`;
    words.push(`The price ${own} is ${apart} the ${name} of ${market}.`);
  }
  if (isWildSize(fields, largest))
    words.push(
      `The quantity ${amountText(plainNumber(fields.quantity))} is more than ten times that of the largest known order of ${tradedIn(fields)?.symbol.trim()}, ${amountText(largest)}.`,
    );
  return words;
}

type Limit = PreviewAnswer['limits'][number];

function limitWords({ limit, bound, value, why }: Limit): string {
  const name = limitName(limit);
  if (limit === 'required')
    return `A real account needs limits, and has none for: ${bound.split(', ').map(fieldText).join(', ')}.`;
  if (value === undefined)
    return `The limit “${name}” is ${boundText(limit, bound)}, and this order can’t be compared with it: ${why ?? 'a value is missing'}.`;
  return `The limit “${name}” is ${boundText(limit, bound)}, and this order would make it ${boundText(limit, value)}.`;
}

function limitsOf(limits: readonly Limit[]) {
  return (
    <Table head={['Limit', 'Bound', 'With this order']}>
      {limits.map(({ limit, bound, value, broken }) => (
        <tr class={broken ? 'broken' : undefined}>
          <th scope="row">{limitName(limit)}</th>
          <td>{boundText(limit, bound)}</td>
          <td>
            {value === undefined ? (broken ? 'not known' : 'nothing alike') : boundText(limit, value)}
            {broken && ', refused'}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function limitName(limit: Limit['limit']): string {
  return limit === 'required' ? 'needed limits' : fieldText(limit).replace(/ ms$/, '');
}

/** A list comes as JSON (`["AAPL"]`), a time in milliseconds, a percentage with many places. */
function boundText(limit: Limit['limit'], text: string): string {
  if (limit === 'collarPercent') return `${text.replace(/(\.\d\d)\d+$/, '$1…')} %`;
  if (limit.endsWith('Ms') && /^\d+$/.test(text)) return ageText(Number(text));
  return text.replace(/[[\]"]/g, '');
}

function quoteText({ bid, ask, last, ageMs }: PreviewAnswer['quotes'][number], sinceMs: number): string {
  if (ageMs === undefined) return 'none: the platform gave no quote in time';
  const prices = Object.entries({ bid, ask, last }).flatMap(([name, price]) =>
    price === undefined ? [] : [`${name} ${price}`],
  );
  return `${prices.join(', ')}, ${ageText(Math.max(0, ageMs + sinceMs))} old`;
}
