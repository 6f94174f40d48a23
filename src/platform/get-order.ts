import { isOrderId, type Stream } from '../domain/order.ts';
import type { GetResult } from './order-reads.ts';
import { type ReadDeps, readPlatform } from './read-platform.ts';
import { ordersPath, predictionOrdersPath } from './wire/order-pages.ts';
import { rawPredictionAnswer } from './wire/prediction-envelope.ts';

const notAnId = { code: 'INVALID_REQUEST', message: 'no order can have this id', retryable: false, sent: 'no' } as const;

/** One order (docs/platform-assumptions.md: `GET /v1/orders/{ordId}`, `GET /v1/predictions/orders/{orderId}`). */
export async function getOrder(
  deps: ReadDeps,
  baseUrl: string,
  stream: Stream,
  accountId: string,
  orderId: string,
  signal: AbortSignal,
): Promise<GetResult> {
  if (!isOrderId(stream, orderId)) return { kind: 'failed', error: notAnId };
  const path = stream === 'prediction' ? predictionOrdersPath : ordersPath;
  const url = `${baseUrl}${path}/${encodeURIComponent(orderId)}?${new URLSearchParams({ accountId })}`;
  const answer = await readPlatform(deps, 'get_order', url, signal);
  if (!answer.ok) return answer.error.status === 404 ? { kind: 'absent' } : { kind: 'failed', error: answer.error };
  const row = stream === 'prediction' ? rawPredictionAnswer.safeParse(answer.value).data?.data : answer.value;
  if (typeof row === 'object' && row !== null) return { kind: 'found', row, bytes: answer.bytes };
  const message = 'the order has another shape than the contract says';
  return { kind: 'failed', error: { status: 200, code: 'BAD_ANSWER', message, retryable: true, sent: 'yes' } };
}
