/**
 * Loaded into the sandbox by `node --import`: each order's `clOrdId` is longer by BENCH_LONGER_BY
 * characters that no compression shortens by much, so that its rows, states and records are.
 */
import { randomBytes } from 'node:crypto';
import { TermsInventor } from '../src/sandbox/market/invent-terms.ts';

const longerBy = Number(process.env['BENCH_LONGER_BY'] ?? 0);

const { invent } = TermsInventor.prototype;
TermsInventor.prototype.invent = function longer(stream, account, now) {
  const terms = invent.call(this, stream, account, now);
  return { ...terms, clOrdId: `${terms.clOrdId}-${randomBytes(longerBy).toString('base64url').slice(0, longerBy)}` };
};
