import { Command, Option } from 'commander';
import { statusAnswer } from '../contract/status-answer.ts';
import { exitCodes } from '../runtime/program-error.ts';
import { withDeadline } from '../runtime/waiting.ts';
import { type ShownStatus, type StatusAnswers, showStatus } from './format-status.ts';
import { type CliIo, printResult } from './io/io.ts';
import { adminAddress, askAdmin } from './rest/admin-port.ts';
import { type RestFlags, restClient } from './rest/rest-flags.ts';
import { watch } from './watch.ts';

const examples = `
Examples:
  $ tidemark status
  $ tidemark status --instance
  $ tidemark status --url http://10.0.0.7:9464
  $ tidemark status --watch
  $ tidemark status --fleet --watch
  $ tidemark status --instance --json | jq .status.relay

The first line is the verdict: of the whole fleet where REST of this machine gives it to this caller, else of the one process. Exit codes: 0 trusted, 1 in doubt, degraded, not ready or on standby, 69 nothing answers.`;

const answerWithinMs = 7000;

interface StatusFlags extends RestFlags {
  readonly watch?: true;
  readonly fleet?: true;
  readonly instance?: true;
}

/**
 * Shows the state of a running service: one process by its admin port, or all by REST, under the
 * caller's token.
 */
export function statusCommand(io: CliIo): Command {
  return new Command('status')
    .description('Shows whether the data of a running service can be trusted, and its state, read from its admin port.')
    .option(
      '--url <address>',
      'the admin port; without it TIDEMARK_ADMIN_HOST and TIDEMARK_ADMIN_PORT. With --fleet: REST; without it TIDEMARK_URL, or TIDEMARK_HTTP_PORT of this machine',
    )
    .option('--fleet', 'of all instances: any one is asked by REST, and asks the others; its token needs ops:read')
    .addOption(
      new Option('--instance', 'of this one process only, by its admin port; --url means that as well').conflicts(
        'fleet',
      ),
    )
    .option('--token <token>', 'bearer token for --fleet; without it TIDEMARK_TOKEN or TIDEMARK_TOKEN_FILE')
    .option('--watch', 'show it again every two seconds, until Ctrl-C')
    .addOption(new Option('--json', 'print { health, status } as JSON').conflicts('watch'))
    .addHelpText('after', examples)
    .action(async (flags: StatusFlags) => {
      const read = reader(io, flags);
      const isWell = flags.watch
        ? await watch(io, async () => shown(io, await read()))
        : showOnce(io, await read(), flags);
      if (!isWell) io.exit(exitCodes.failed);
    });
}

/** The verdict, on the first line, has its colour. */
function shown({ clock, colours }: CliIo, answers: StatusAnswers): ShownStatus {
  const { text, isWell } = showStatus(answers, clock.nowMs());
  const tone = isWell ? 'good' : text.startsWith('not ready') ? 'bad' : 'caution';
  return { text: text.replace(/^.*/, (verdict) => colours.paint(tone, verdict)), isWell };
}

function showOnce(io: CliIo, answers: StatusAnswers, flags: StatusFlags): boolean {
  const { text, isWell } = shown(io, answers);
  const { health, status } = answers;
  printResult(io, flags, { health, status }, text, 2);
  return isWell;
}

function reader(io: CliIo, flags: StatusFlags): () => Promise<StatusAnswers> {
  if (flags.fleet) return () => readFleet(io, flags);
  const one = readOne(io, flags);
  return flags.instance || flags.url !== undefined ? one : () => readBoth(io, flags, one);
}

/**
 * The readiness of this process with the fleet's verdict: an instance without accounts is well by
 * itself while the others store nothing. The fleet is asked by REST. REST may be off, belong to
 * another service, or refuse this caller: then it is the process alone, and the text says why.
 */
async function readBoth(io: CliIo, flags: StatusFlags, one: () => Promise<StatusAnswers>): Promise<StatusAnswers> {
  const client = restClient(io, flags);
  const asked = withDeadline(io.clock, answerWithinMs, 'REST', client.exchange({ method: 'GET', path: '/v1/status' }));
  const [own, fleet] = await Promise.all([one(), asked.catch(() => undefined)]);
  const instance = statusAnswer.safeParse(own.status).data?.lane.instance;
  const all = fleet?.status === 200 ? statusAnswer.safeParse(fleet.body).data : undefined;
  const isOurs = all?.lane.instance === instance || all?.instances?.some((each) => each.instance === instance) === true;
  if (all !== undefined && isOurs) return { ...own, status: fleet?.body };
  return { ...own, alone: fleet?.status === 401 || fleet?.status === 403 ? 'refused' : 'unasked' };
}

function readOne(io: CliIo, flags: StatusFlags): () => Promise<StatusAnswers> {
  const base = adminAddress(io, flags.url);
  const ask = async (path: string) => (await askAdmin(io, base, path, { withinMs: answerWithinMs })).body;
  return async () => {
    const [health, status] = await Promise.all([ask('/readyz?verbose'), ask('/status')]);
    return { health, status };
  };
}

/**
 * An instance that answers by REST serves; its answer says for all whether the data can be trusted.
 */
async function readFleet(io: CliIo, flags: StatusFlags): Promise<StatusAnswers> {
  const { body } = await restClient(io, flags).ask({ method: 'GET', path: '/v1/status' });
  return { health: { status: 'ready' }, status: body };
}
