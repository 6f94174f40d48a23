import type { Config } from '../../config/config.ts';
import type { Secret } from '../../runtime/secret.ts';
import type { SocketEnd } from '../../service/sources/socket.ts';
import { type CheckDeps, type Finding, fail, ok, reachFix } from './finding.ts';

type StreamCheckDeps = Pick<CheckDeps, 'openSocket' | 'clock'>;

const handshakeWithinMs = 5000;

/** Opens each stream once, as the service would, and closes it. */
export async function checkStreams(config: Config, accessToken: Secret, deps: StreamCheckDeps): Promise<Finding[]> {
  const { platformStreamUrl, platformStagingStreamUrl } = config;
  if (platformStreamUrl === undefined) {
    return [fail('stream', 'PLATFORM_STREAM_URL is not set', 'Set it to the whole address of the order stream.')];
  }
  const addresses = new Set([platformStreamUrl, platformStagingStreamUrl ?? platformStreamUrl]);
  return Promise.all(
    [...addresses].map((url, index) => checkStream(index === 0 ? 'stream' : 'staging stream', url, accessToken, deps)),
  );
}

async function checkStream(part: string, url: string, accessToken: Secret, deps: StreamCheckDeps): Promise<Finding> {
  const setting = part === 'stream' ? 'PLATFORM_STREAM_URL' : 'PLATFORM_STAGING_STREAM_URL';
  const result = await handshake(url, accessToken, deps);
  if (result === 'open') return ok(part, 'the handshake succeeds');
  if (result === 'late') return fail(part, `${url}: no handshake within ${handshakeWithinMs} ms`, reachFix(setting));
  return fail(part, `${url}: ${describeEnd(result)}`, fixOf(result, setting));
}

/**
 * As for a list: a scope helps if the stream is refused; neither scope nor address helps against a
 * fault of the platform.
 */
function fixOf(end: SocketEnd, setting: string): string {
  const address = `${setting}: it is the whole address of the stream, with its path`;
  const status = end.kind === 'refused' ? end.status : 0;
  if (status === 403) return 'Give the client the scope order:information in the client center.';
  if (status === 429 || status >= 500)
    return `Run it again in a minute: the platform has a fault, or asks for fewer requests. If it stays, check ${address}.`;
  return `Check ${address}, of the platform that gave the token.`;
}

function handshake(
  url: string,
  accessToken: Secret,
  { openSocket, clock }: StreamCheckDeps,
): Promise<'open' | 'late' | SocketEnd> {
  return new Promise((resolve) => {
    const timer = clock.after(handshakeWithinMs, () => {
      resolve('late');
      socket.terminate();
    });
    const socket = openSocket(url, accessToken, {
      onOpen: () => {
        resolve('open');
        timer.cancel();
        socket.close();
      },
      onFrame: () => {},
      onPong: () => {},
      onEnd: (end) => {
        resolve(end);
        timer.cancel();
      },
    });
  });
}

function describeEnd(end: SocketEnd): string {
  if (end.kind === 'refused') return `the upgrade is answered with ${end.status}`;
  return end.kind === 'closed' ? `closed with ${end.code} at once` : `${end.code}: ${end.message}`;
}
