import { type PredictionErrorCode, predictionErrors } from '../../platform/wire/error-bodies.ts';
import type { Refusal } from './write.ts';

/** `POST /v1/orders` answers validation faults with the flat body. */
export function badOrder(message: string): Refusal {
  return { refused: true, status: 400, code: 'INVALID_ORDER', message, shape: 'flat' };
}

/** Specification, "Prediction order errors". */
export function predictionRefusal(code: PredictionErrorCode, message: string): Refusal {
  return { refused: true, status: predictionErrors[code].status, code, message, shape: 'prediction' };
}

export function nestedRefusal(status: number, code: string, message: string): Refusal {
  return { refused: true, status, code, message, shape: 'nested' };
}
