import { keepsEveryPromise } from './oracles/keeps-every-promise.ts';

// Two files, so that both workers have one of them.
keepsEveryPromise(51);
