import { parentPort, workerData } from 'node:worker_threads';
import { bundleConsole } from './bundle-console.ts';

// A worker: the bundler's process ends with it.
parentPort?.postMessage(await bundleConsole(workerData as Parameters<typeof bundleConsole>[0]));
