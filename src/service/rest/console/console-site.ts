import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Log } from '../../../observability/log.ts';
import type { Clock, Timer } from '../../../runtime/clock.ts';
import { withDeadline } from '../../../runtime/waiting.ts';
import type { BuiltSite } from './build-site.ts';
import { ConsoleSignIn, type ConsoleSignInOptions } from './console-sign-in.ts';

interface ConsoleSiteDeps {
  /** Asks the issuer. */
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly log: Log;
}

interface ConsoleSiteOptions {
  readonly demo?: boolean;
  /** Left out if no issuer signs readers in. */
  readonly signIn?: ConsoleSignInOptions;
}

const buildWithinMs = 60_000;
/**
 * Making it takes half a second of processor time, and the start needs that time: the streams have
 * to be live first.
 */
const buildAfterMs = 3_000;

/**
 * The console, made shortly after the start, or at the first request for it. States: made →
 * building → ready or failed. A request during the build waits for it; the service itself never
 * does, and works the same without it.
 */
export class ConsoleSite {
  readonly signIn: ConsoleSignIn;
  private readonly clock: Clock;
  private readonly log: Log;
  private readonly demo: boolean;
  private built: Promise<BuiltSite | undefined> | undefined;
  private timer: Timer | undefined;

  constructor(deps: ConsoleSiteDeps, options: ConsoleSiteOptions = {}) {
    this.clock = deps.clock;
    this.log = deps.log;
    this.demo = options.demo === true;
    this.signIn = new ConsoleSignIn(deps, options.signIn);
  }

  start(): void {
    this.timer = this.clock.after(buildAfterMs, () => void this.site());
    this.signIn.start();
  }

  /**
   * Resolves once nothing is being made any more: Node aborts the whole process when it ends while
   * a worker compresses.
   */
  async stop(): Promise<void> {
    this.timer?.cancel();
    this.signIn.stop();
    await this.built;
  }

  /** Undefined: it could not be made, and the log has the reason. */
  site(): Promise<BuiltSite | undefined> {
    this.built ??= this.build();
    return this.built;
  }

  private async build(): Promise<BuiltSite | undefined> {
    // As sources or as a package: the worker has this file's ending. The warning says that Node may
    // still change the function that strips types.
    const ending = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const worker = new Worker(new URL(`./site-worker.${ending}`, import.meta.url), {
      workerData: {
        console: fileURLToPath(new URL('../../../console', import.meta.url)),
        runbooks: fileURLToPath(new URL('../../../../docs/runbooks', import.meta.url)),
        demo: this.demo,
      },
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    // It must not keep alive a process that has been asked to stop.
    worker.unref();
    const answer = new Promise<BuiltSite>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', (code) => reject(new Error(`the worker ended with ${code}`)));
    });
    try {
      return await withDeadline(this.clock, buildWithinMs, 'making the console', answer);
    } catch (error) {
      this.log.error({ err: error }, 'the console could not be made; REST works without it');
      return undefined;
    } finally {
      await worker.terminate();
    }
  }
}
