import { describe, expect, it } from 'vitest';
import {
  describeCode,
  isMissingPartition,
  isPoison,
  isTransient,
  sqlstateOf,
} from '../../src/store/session/retry-transaction.ts';

const fromServer = (code: string, more: object = {}) =>
  Object.assign(new Error('x'), { code, severity: 'ERROR', ...more });

describe('an error of the database', () => {
  it.each([
    '40001',
    '40P01',
    '55P03',
    '57P01',
    '57P02',
    '57P03',
    '57014',
    '25P03',
    '53100',
    '53200',
    '53300',
    '08006',
    '08P01',
  ])('is likely to pass: %s', (code) => {
    expect(isTransient(fromServer(code))).toBe(true);
    expect(isPoison(fromServer(code))).toBe(false);
  });

  it.each(['22021', '22P02', '22003', '23505', '23502', '21000', '54000', '54001'])(
    'is the fault of a row: %s',
    (code) => {
      expect(isPoison(fromServer(code))).toBe(true);
      expect(isTransient(fromServer(code))).toBe(false);
    },
  );

  it.each(['42501', '42P01', '42883', 'XX000', 'TM001', 'TM002'])('is neither: %s', (code) => {
    expect(isPoison(fromServer(code)) || isTransient(fromServer(code))).toBe(false);
  });

  it('is a missing partition, and no fault of a row, when a check failed that has no name', () => {
    expect(isMissingPartition(fromServer('23514'))).toBe(true);
    expect(isPoison(fromServer('23514'))).toBe(false);
    expect(isPoison(fromServer('23514', { constraint: 'orders_check' }))).toBe(true);
  });

  it('is found inside what drizzle throws', () => {
    expect(sqlstateOf(new Error('Failed query', { cause: fromServer('40001') }))).toBe('40001');
  });
});

describe('an error of the socket', () => {
  it.each(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND'])('is likely to pass: %s', (code) => {
    const error = Object.assign(new Error('x'), { code });
    expect(isTransient(error)).toBe(true);
    expect(sqlstateOf(error)).toBeUndefined();
    expect(describeCode(error)).toBe(code);
  });

  it.each([
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'Query read timeout',
    'timeout expired',
    'timeout exceeded when trying to connect',
    'Client has encountered a connection error and is not queryable',
  ])("is likely to pass, in the driver's words: %s", (message) => {
    expect(isTransient(new Error(message))).toBe(true);
    expect(describeCode(new Error(message))).toBe('CONNECTION');
  });

  it('is not what a fault of ours looks like', () => {
    expect(isTransient(new TypeError('x is not a function'))).toBe(false);
    expect(isTransient(Object.assign(new Error('x'), { code: 'ERR_INVALID_ARG_TYPE' }))).toBe(false);
    expect(isTransient(undefined)).toBe(false);
  });
});
