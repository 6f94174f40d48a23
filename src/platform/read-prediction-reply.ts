import type { WriteReading } from './judge-write.ts';
import { predictionOrderReply } from './wire/prediction-envelope.ts';
import type { PredictionOrderWire } from './wire/prediction-order.ts';

/** Fields of the order by which an answer is known to be about it. */
export type Identity = Partial<
  Pick<PredictionOrderWire, 'orderId' | 'accountId' | 'clientOrderRef' | 'symbol' | 'outcome' | 'side'>
>;

/** The answers of the three writes of prediction orders (specification, "Prediction order errors"; docs/platform-assumptions.md: place and cancel answer alike). */
export function predictionReading(identity: Identity): WriteReading<PredictionOrderWire> {
  return {
    refusals: new Set([400, 404, 409]),
    promisesNotSent: true,
    read: (value) => {
      const reply = predictionOrderReply.safeParse(value);
      if (!reply.success) return 'the answer has another shape than the specification says';
      const order = reply.data.data;
      const names = Object.keys(identity) as (keyof Identity)[];
      if (names.some((name) => order[name] !== identity[name])) return 'the answer is about another order';
      return { verdict: 'accepted', answer: order };
    },
  };
}
