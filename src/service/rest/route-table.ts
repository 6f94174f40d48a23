import type { Route } from './route.ts';
import { backfillAccount, listAccounts, listRepairs, readAccount, showExposure } from './routes/accounts.ts';
import { cancelAfter, cancelAllOfAccount, cancelAllOfService } from './routes/cancel-all.ts';
import { listCommands, probe, resolveCommand, showCommand } from './routes/commands.ts';
import {
  cancelDeadLetterJob,
  discardDeadLetters,
  listDeadLetterJobs,
  listDeadLetters,
  openDeadLetterJob,
  retryDeadLetters,
  showDeadLetter,
  showDeadLetterJob,
} from './routes/dead-letters.ts';
import { drainInstance, pinShard, showFleet, undrainInstance, unpinShard } from './routes/fleet.ts';
import {
  approve,
  haltAccount,
  haltService,
  listApprovals,
  listHalts,
  resumeAccount,
  resumeService,
} from './routes/halts.ts';
import { changeLimits, listLimits } from './routes/limits.ts';
import { countOrders, getOrder, listOrders, listUpdates } from './routes/order-lists.ts';
import {
  cancelOrder,
  cancelPredictionOrder,
  placeOrder,
  placePredictionOrder,
  previewOrder,
  previewPredictionOrder,
  previewPredictionReplace,
  previewReplace,
  replaceOrder,
  replacePredictionOrder,
} from './routes/orders.ts';
import {
  listConsumers,
  showAsyncapi,
  showCaller,
  showHistory,
  showOpenapi,
  showPage,
  showStatus,
} from './routes/service.ts';
import { streamUpdates } from './routes/stream-updates.ts';

/**
 * Every route that exists. Without an entry here a route has no path, no scope, no place in OpenAPI
 * and no row in the matrix of authorization tests.
 */
export const routeTable: readonly Route[] = [
  placeOrder,
  placePredictionOrder,
  previewOrder,
  previewPredictionOrder,
  previewReplace,
  previewPredictionReplace,
  replaceOrder,
  replacePredictionOrder,
  cancelOrder,
  cancelPredictionOrder,
  listOrders,
  countOrders,
  getOrder,
  listUpdates,
  listCommands,
  showCommand,
  resolveCommand,
  streamUpdates,
  listAccounts,
  readAccount,
  backfillAccount,
  listRepairs,
  showExposure,
  listHalts,
  haltAccount,
  resumeAccount,
  cancelAllOfAccount,
  haltService,
  resumeService,
  cancelAllOfService,
  listApprovals,
  approve,
  cancelAfter,
  listLimits,
  changeLimits,
  probe,
  showCaller,
  showStatus,
  showFleet,
  drainInstance,
  undrainInstance,
  pinShard,
  unpinShard,
  showHistory,
  listConsumers,
  listDeadLetters,
  openDeadLetterJob,
  listDeadLetterJobs,
  showDeadLetterJob,
  cancelDeadLetterJob,
  showDeadLetter,
  retryDeadLetters,
  discardDeadLetters,
  showOpenapi,
  showAsyncapi,
  showPage,
];
