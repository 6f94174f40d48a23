/** Its name is the prefix of its keys for ever. */
interface StreamTraits {
  /** `versioned`: the highest version is the order. `join`: observations are joined. */
  readonly reduction: 'join' | 'versioned';
  /** So the terms of a place, how symbols compare, and what an order is worth. */
  readonly market: 'securities' | 'predictions';
  /** One word shows status and pending action, and the one may hide the other. */
  readonly pendingHidesStatus: boolean;
  /** `new_order`: it ends the order, and makes another with a reference of ours. */
  readonly replaces: 'no' | 'in_place' | 'new_order';
  /** By the specification. */
  readonly orderId: 'uuid' | 'any';
  /** An account has to be enrolled: until then the platform answers 403. */
  readonly enrolls: boolean;
  /** Its lists go by the last change of an order, or by its creation. */
  readonly lists: 'by_change' | 'by_creation';
  /** Its venue takes orders for the time before and after the regular session. */
  readonly extendedHours: boolean;
  /** Otherwise a login's orders all belong to the one account it lists. */
  readonly namesAccount: boolean;
  /**
   * Where the reference stands that an order was placed with. Prediction orders have a `clOrdId`
   * too, but it is between the platform and its venue.
   */
  readonly reference: 'clOrdId' | 'clientOrderRef';
}

/** Of most streams. */
const usual = {
  reduction: 'join',
  market: 'securities',
  pendingHidesStatus: false,
  replaces: 'no',
  orderId: 'any',
  enrolls: false,
  lists: 'by_change',
  extendedHours: false,
  namesAccount: true,
  reference: 'clOrdId',
} as const;

const alpacaOrders = {
  ...usual,
  pendingHidesStatus: true,
  replaces: 'new_order',
  lists: 'by_creation',
  extendedHours: true,
  namesAccount: false,
} as const;

/** The core asks for these, and never for a stream's name. */
export const traits = {
  account: { ...usual, pendingHidesStatus: true },
  prediction: {
    ...usual,
    reduction: 'versioned',
    market: 'predictions',
    replaces: 'in_place',
    orderId: 'uuid',
    enrolls: true,
    reference: 'clientOrderRef',
  },
  alpaca: alpacaOrders,
  alpaca_paper: alpacaOrders,
} as const satisfies Readonly<Record<string, StreamTraits>>;

/** For a trial, before it has a row above: its venue can be checked, and nothing follows it. */
export function trialStream<Market extends StreamTraits['market'] = 'securities'>(
  name: string,
  row: Partial<StreamTraits> & { readonly market?: Market } = {},
): StreamWith<'market', Market> {
  Object.assign(traits, { [name]: { ...usual, ...row } });
  return name as StreamWith<'market', Market>;
}

/** The streams with this trait. */
export type StreamWith<Name extends keyof StreamTraits, Value extends StreamTraits[Name]> = {
  [S in keyof typeof traits]: (typeof traits)[S][Name] extends Value ? S : never;
}[keyof typeof traits];

type Securities = StreamWith<'market', 'securities'>;

/** Equities and options; the first is the usual one. */
export const securitiesStreams = (Object.keys(traits) as (keyof typeof traits)[]).filter(
  (stream) => traits[stream].market === 'securities',
) as [Securities, ...Securities[]];

type Replaceable = Extract<Securities, StreamWith<'replaces', 'new_order'>>;

/** Those of them whose orders can be replaced. */
export const replaceableSecurities = securitiesStreams.filter(
  (stream): stream is Replaceable => traits[stream].replaces !== 'no',
) as [Replaceable, ...Replaceable[]];

/** Requests have to name it: without a name, another stream of its market is meant. */
export function isNamed(stream: keyof typeof traits): boolean {
  return traits[stream].market === 'securities' && stream !== securitiesStreams[0];
}

/** For people: `ACCT-1`, or with a stream to name, `ACCT-1 (stream)`. */
export function accountText({ accountId, stream }: { accountId: string; stream: keyof typeof traits }): string {
  return isNamed(stream) ? `${accountId} (${stream})` : accountId;
}

interface Listed {
  readonly stream: keyof typeof traits;
  readonly createdAt?: string | undefined;
  readonly sentAt?: string | undefined;
  readonly updatedAt: string;
}

/** As the stream's lists go. */
export function listedAt({ stream, sentAt, createdAt, updatedAt }: Listed): string {
  return traits[stream].lists === 'by_creation' ? (sentAt ?? createdAt ?? updatedAt) : updatedAt;
}
