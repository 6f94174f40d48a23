import type { Route } from './route.ts';
import { approve, listApprovals } from './routes/approvals.ts';
import { cancelAfter } from './routes/cancel-after.ts';
import { cancelAllOfAccount, cancelAllOfService } from './routes/cancel-all.ts';
import { cancelOrder, cancelPredictionOrder } from './routes/cancel-order.ts';
import { haltAccount, haltService, resumeAccount, resumeService } from './routes/change-halts.ts';
import { getOrder } from './routes/get-order.ts';
import { changeLimits, listLimits } from './routes/limits.ts';
import { listAccounts } from './routes/list-accounts.ts';
import { listCommands } from './routes/list-commands.ts';
import { listHalts } from './routes/list-halts.ts';
import { listOrders } from './routes/list-orders.ts';
import { listUpdates } from './routes/list-updates.ts';
import { placeOrder } from './routes/place-order.ts';
import { placePredictionOrder } from './routes/place-prediction-order.ts';
import { reconcile } from './routes/reconcile.ts';
import { replacePredictionOrder } from './routes/replace-prediction-order.ts';
import { settleCommand } from './routes/settle-command.ts';
import { showCommand } from './routes/show-command.ts';
import { showAsyncapi, showOpenapi, showPage } from './routes/show-documents.ts';
import { showExposure } from './routes/show-exposure.ts';
import { streamUpdates } from './routes/stream-updates.ts';

/** Every route there is: what is not here has no path, no scope, no place in OpenAPI and no row in the matrix of authorization tests. */
export const routeTable: readonly Route[] = [
  placeOrder,
  placePredictionOrder,
  replacePredictionOrder,
  cancelOrder,
  cancelPredictionOrder,
  listOrders,
  getOrder,
  listUpdates,
  listCommands,
  showCommand,
  settleCommand,
  streamUpdates,
  listAccounts,
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
  showOpenapi,
  showAsyncapi,
  showPage,
];
