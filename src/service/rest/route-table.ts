import type { Route } from './route.ts';
import { backfillAccount, listAccounts, listRepairs, readAccount, showExposure } from './routes/accounts.ts';
import { approve, listApprovals } from './routes/approvals.ts';
import { cancelAfter, cancelAllOfAccount, cancelAllOfService } from './routes/cancel-all.ts';
import { listCommands, reconcile, settleCommand, showCommand } from './routes/commands.ts';
import { drainInstance, pinShard, showFleet, undrainInstance, unpinShard } from './routes/fleet.ts';
import { haltAccount, haltService, listHalts, resumeAccount, resumeService } from './routes/halts.ts';
import { changeLimits, listLimits } from './routes/limits.ts';
import { countOrders, listOrders } from './routes/order-lists.ts';
import {
  cancelOrder,
  cancelPredictionOrder,
  getOrder,
  listUpdates,
  placeOrder,
  placePredictionOrder,
  replacePredictionOrder,
} from './routes/orders.ts';
import { previewOrder, previewPredictionOrder } from './routes/previews.ts';
import {
  cancelQuarantineJob,
  discardQuarantined,
  listQuarantine,
  listQuarantineJobs,
  openQuarantineJob,
  retryQuarantined,
  showQuarantined,
  showQuarantineJob,
} from './routes/quarantine.ts';
import { listConsumers, showCaller, showHistory, showStatus } from './routes/service.ts';
import { showAsyncapi, showOpenapi, showPage } from './routes/show-documents.ts';
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
  replacePredictionOrder,
  cancelOrder,
  cancelPredictionOrder,
  listOrders,
  countOrders,
  getOrder,
  listUpdates,
  listCommands,
  showCommand,
  settleCommand,
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
  reconcile,
  showCaller,
  showStatus,
  showFleet,
  drainInstance,
  undrainInstance,
  pinShard,
  unpinShard,
  showHistory,
  listConsumers,
  listQuarantine,
  openQuarantineJob,
  listQuarantineJobs,
  showQuarantineJob,
  cancelQuarantineJob,
  showQuarantined,
  retryQuarantined,
  discardQuarantined,
  showOpenapi,
  showAsyncapi,
  showPage,
];
