import { parentPort, workerData } from 'node:worker_threads';
import { buildSite } from './build-site.ts';

// A worker: the compiler that strips the types takes memory and processor time. The service's own
// thread should not lose them, and both end with the worker.
parentPort?.postMessage(buildSite(workerData));
