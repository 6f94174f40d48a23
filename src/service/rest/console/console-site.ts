import { Worker } from 'node:worker_threads';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Timer } from '../../../runtime/clock.ts';
import { packageFile } from '../../../runtime/package-file.ts';
import { withDeadline } from '../../../runtime/waiting.ts';
import { sendProblem } from '../send-answer.ts';
import { type BuiltSite, buildSite, type ConsoleFiles, filesIn, policyOf, type SiteFile } from './build-site.ts';
import { ConsoleSignIn, type ConsoleSignInOptions, type IssuerMetadataDeps } from './console-sign-in.ts';

interface ConsoleSiteOptions {
  /** Served by the demo: it has the screen "Break it". */
  readonly demo?: boolean;
  /** Left out if no issuer signs readers in. */
  readonly signIn?: ConsoleSignInOptions;
}

const bundleWithinMs = 60_000;
/** It takes half a second of processor time, which the start needs: the streams come first. */
const buildAfterMs = 3_000;

/**
 * The console, made shortly after the start, or at the first request for it. States: made →
 * building → ready or failed. A request during the build waits for it; the service itself never
 * does, and works the same without it.
 */
export class ConsoleSite {
  readonly signIn: ConsoleSignIn;
  private readonly deps: IssuerMetadataDeps;
  private readonly demo: boolean;
  private built: Promise<BuiltSite | undefined> | undefined;
  private timer: Timer | undefined;

  constructor(deps: IssuerMetadataDeps, options: ConsoleSiteOptions = {}) {
    this.deps = deps;
    this.demo = options.demo === true;
    this.signIn = new ConsoleSignIn(deps, options.signIn);
  }

  start(): void {
    this.timer = this.deps.clock.after(buildAfterMs, () => void this.site());
    this.signIn.start();
  }

  /** Resolves once nothing is being made any more. */
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
    try {
      // A package has what `prepack` bundled; no other files in it end in `.js`.
      const isCheckout = import.meta.url.endsWith('.ts');
      const files = await (isCheckout
        ? this.bundled()
        : filesIn(packageFile(this.demo ? 'dist/demo-console' : 'dist/console')));
      const runbooks = await filesIn(packageFile('docs/runbooks'));
      return await buildSite({ files, runbooks });
    } catch (error) {
      this.deps.log.error({ err: error }, 'the console could not be made; REST works without it');
      return undefined;
    }
  }

  /** By esbuild, which an install without developers' packages lacks. */
  private async bundled(): Promise<ConsoleFiles> {
    const worker = new Worker(new URL('./bundle-worker.ts', import.meta.url), { workerData: { demo: this.demo } });
    // It must not keep alive a process once it is asked to stop.
    worker.unref();
    const answer = new Promise<ConsoleFiles>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', (code) => reject(new Error(`the worker ended with ${code}`)));
    });
    try {
      return await withDeadline(this.deps.clock, bundleWithinMs, 'making the console', answer);
    } finally {
      await worker.terminate();
    }
  }
}

const forGood = 'public, max-age=31536000, immutable';

/**
 * Serves the console under /console, and leads `/` there. These are not in the table of routes:
 * they hold no data, so they need no token and have no place in OpenAPI. The page asks the table's
 * routes with its reader's token.
 */
export function serveConsole(server: FastifyInstance, site: ConsoleSite): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const built = await site.site();
    if (built === undefined) return sendProblem(reply, 'CONSOLE_UNAVAILABLE');
    const path = request.url.split('?', 1)[0] ?? '';
    if (path.startsWith('/console/app/')) return sendFile(built.files.get(path), request, reply);
    const [, runbook] = /^\/console\/runbooks\/([\w-]+)\.md$/.exec(path) ?? [];
    if (runbook !== undefined) return sendRunbook(built.runbooks.get(runbook), reply);
    // For every screen's address: the page itself reads the address.
    return reply
      .header('content-type', 'text/html; charset=utf-8')
      .header('content-security-policy', policyOf(site.signIn.origins()))
      .header('cross-origin-opener-policy', 'same-origin')
      .send(built.page);
  };
  server.get('/', (_request, reply) => reply.redirect('/console', 302));
  server.get('/console', answer);
  server.get('/console/sign-in.json', (_request, reply) =>
    reply.header('cache-control', 'no-store').send(site.signIn.document()),
  );
  server.get('/console/*', answer);
}

function sendFile(file: SiteFile | undefined, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (file === undefined) return sendProblem(reply, 'NOT_FOUND');
  reply.header('content-type', file.type).header('cache-control', forGood).header('vary', varyWith(reply));
  if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(Buffer.from(file.bytes));
  return reply.header('content-encoding', 'gzip').send(Buffer.from(file.gzipped));
}

/** Not for good, as its address stays the same when its text changes. */
function sendRunbook(file: SiteFile | undefined, reply: FastifyReply): FastifyReply {
  if (file === undefined) return sendProblem(reply, 'NOT_FOUND');
  return reply.header('content-type', file.type).send(Buffer.from(file.bytes));
}

/** Beside the origin, which is there if other origins may use REST. */
function varyWith(reply: FastifyReply): string {
  const before = reply.getHeader('vary');
  return before === undefined ? 'Accept-Encoding' : `${before}, Accept-Encoding`;
}
