import type { Clock } from '../../../src/runtime/clock.ts';
import type { Declined } from '../../../src/service/commands/answer.ts';
import { Halts } from '../../../src/service/commands/halts.ts';
import type { OpenedAs } from '../../../src/service/commands/opening.ts';
import { OperatorService } from '../../../src/service/commands/operator-service.ts';
import type { OrderEntry } from '../../../src/service/commands/order-entry.ts';
import { SendAttempts, type Sending } from '../../../src/service/commands/send-attempts.ts';
import { SubmitCommand } from '../../../src/service/commands/submit-command.ts';
import { WritePermit } from '../../../src/service/commands/write-permit.ts';
import type { NewCommand, OpenResult } from '../../../src/store/commands/command-journal.ts';
import { opened } from '../../../src/store/commands/journal-rows.ts';
import type { Term } from '../../../src/store/commands/term.ts';
import type { WriteResult } from '../../../src/venue/write-result.ts';
import { MemoryJournal } from '../../support/commands/memory-journal.ts';
import type { PlantedBug } from './planted-bug.ts';
import { instead, replaced } from './replaced.ts';

/** Order entry whose results are `change`d before anybody sees them. */
export function entering(change: (result: WriteResult) => WriteResult): NonNullable<PlantedBug['deps']> {
  return () => ({
    wrapEntry: (entry: OrderEntry): OrderEntry => ({
      send: async (request, attemptId, options) => change(await entry.send(request, attemptId, options)),
    }),
  });
}

const repeatable = (result: WriteResult): WriteResult =>
  result.kind === 'unknown' ? { kind: 'not_sent', reason: result.reason, mayRepeat: true } : result;

export function withStatus(
  result: WriteResult,
  status: number,
  as: (reason: NonNullable<WriteResult['reason']>) => WriteResult,
): WriteResult {
  return result.kind === 'unknown' && result.reason.status === status ? as(result.reason) : result;
}

/** Attempts are written as if nothing were halted; what is new is still declined. */
function sendingWithoutHalts() {
  const original = sendAttempt(SendAttempts.prototype);
  return replaced(
    SendAttempts,
    'write' as keyof SendAttempts,
    function (this: SendAttempts, sending: Sending, attemptId: string) {
      const deps = { ...(this as unknown as { deps: object }).deps, halts: { blocking: () => undefined } };
      return original.call(instead<object>(this, { deps }) as SendAttempts, sending, attemptId);
    },
  );
}

/** An opening's lost answer is taken for one that says: it is being sent. */
function openingWithoutAnswer() {
  const { write } = SubmitCommand.prototype as unknown as Opens;
  return replaced(
    SubmitCommand,
    'write' as keyof SubmitCommand,
    async function (this: SubmitCommand, command: NewCommand, as: OpenedAs, term: Term) {
      const written = await write.call(this, command, as, term);
      if (written.result.kind !== 'declined' || written.result.code !== 'STORE_UNAVAILABLE') return written;
      const { clock } = (this as unknown as { readonly deps: { readonly clock: Clock } }).deps;
      const pretended = opened(command, term.fence, clock.nowMs());
      return { result: { kind: 'opened', command: pretended }, askedAtMs: clock.monotonicMs() };
    },
  );
}

const openingWithoutHalts = replaced(MemoryJournal, 'mayBeginSending' as keyof MemoryJournal, () => true);

const markingWithoutHalts = replaced(MemoryJournal, 'sendingObjection' as keyof MemoryJournal, () => undefined);

/** The second look of a permit as it was: nothing but the objections is asked again. */
function askingWithoutTime() {
  const { askAgain } = WritePermit.prototype;
  return replaced(WritePermit, 'askAgain', function (this: WritePermit) {
    return askAgain.call(Object.assign(this, { options: { writeWithinMs: Number.POSITIVE_INFINITY } }));
  });
}

/** Several mistakes as one. */
function together(...plants: readonly (() => () => void)[]): () => () => void {
  return () => {
    const ways = plants.map((plant) => plant());
    return () => {
      for (const back of ways) back();
    };
  };
}

/** The private part of `SubmitCommand`. */
interface Opens {
  write(command: NewCommand, as: OpenedAs, term: Term): Promise<{ readonly result: OpenResult | Declined }>;
}

/** A halt is answered as soon as it is committed. */
const answeringAtOnce = replaced(OperatorService, 'writesAreOver' as keyof OperatorService, async () => undefined);

function sendAttempt(of: SendAttempts) {
  return (of as unknown as { write(sending: Sending, attemptId: string): Promise<unknown> }).write;
}

/** Mistakes that one could make with the one write of an attempt. */
export const sends: readonly PlantedBug[] = [
  {
    name: 'an uncertain answer is taken for one that says nothing was sent, and the order is sent again',
    seed: 7,
    shows: /though attempt|was done 2 times|it was sent/,
    deps: entering(repeatable),
  },
  {
    name: 'a 504 is taken for a refusal',
    seeds: 'sweeping',
    seed: 2,
    shows: /becomes refused: it is|is refused, and is done/,
    deps: entering((result) => withStatus(result, 504, (reason) => ({ kind: 'refused', reason }))),
  },
  {
    name: 'the error page of a proxy is taken for a refusal',
    seed: 11,
    shows: /becomes refused: it is|is refused, and is done/,
    deps: entering((result) =>
      [404, 409, 500, 502].reduce(
        (each, page) => withStatus(each, page, (reason) => ({ kind: 'refused', reason })),
        result,
      ),
    ),
  },
  {
    name: 'any 429 is taken for the documented one',
    seeds: 'sweeping',
    seed: 9,
    shows: /though attempt|was done 2 times|it was sent/,
    deps: entering((result) => withStatus(result, 429, (reason) => ({ kind: 'not_sent', reason, mayRepeat: true }))),
  },
  {
    name: 'the write does not wait for its attempt to be journaled as sending',
    shows: /writes .* which is (prepared|not)/,
    deps: () => ({
      wrapEntry: (entry) => ({
        send: (request, attemptId, options) =>
          entry.send(request, attemptId, { ...options, mayWrite: async () => true, mayStillWrite: () => true }),
      }),
    }),
  },
  {
    name: 'the write goes out although its permission was not given',
    shows: /writes .* (which is|behind)/,
    deps: () => ({
      wrapEntry: (entry) => ({
        send: (request, attemptId, options) => {
          const mayWrite = () => options.mayWrite().then(() => true);
          return entry.send(request, attemptId, { ...options, mayWrite, mayStillWrite: () => true });
        },
      }),
    }),
  },
  {
    name: 'what is journaled already is sent although its account was halted',
    seeds: 'leaking',
    shows: /behind the acknowledged halt/,
    plant: together(sendingWithoutHalts(), markingWithoutHalts),
  },
  {
    name: 'a command is written although the answer to its opening was lost',
    shows: /writes .* which is not journaled|becomes not_sent: it was sent/,
    plant: openingWithoutAnswer(),
  },
  {
    name: 'a halt is answered without its second, and an opening as sending does not look at it',
    seeds: 'leaking',
    shows: /behind the acknowledged halt/,
    plant: together(openingWithoutHalts, askingWithoutTime(), answeringAtOnce),
  },
  {
    name: 'a halt is answered without its second, and the mark of a write does not look at the halts',
    seeds: 'leaking',
    shows: /behind the acknowledged halt/,
    plant: together(markingWithoutHalts, askingWithoutTime(), answeringAtOnce),
  },
  {
    name: 'a halt that the database has lost is forgotten at the next look',
    seeds: 'forgetting',
    shows: /has forgotten the acknowledged halt/,
    plant: replaced(Halts, 'lose' as keyof Halts, () => undefined),
  },
  {
    name: 'a halt that the database has lost is put back before its loss was noticed',
    seeds: 'forgetting',
    shows: /the database has lost the acknowledged halt .*, and no generation has begun/,
    deps: () => ({ noticeCheckpoint: async () => undefined }),
  },
  {
    name: 'a halt is answered before the writes are over that were marked before it',
    seeds: 'leaking',
    shows: /behind the acknowledged halt/,
    plant: answeringAtOnce,
    deps: ({ host }) => ({
      wrapEntry: (entry) => ({
        send: (request, attemptId, options) => {
          // Within the second that a write may take.
          const mayWrite = async () => {
            const may = await options.mayWrite();
            await host.clock.sleep(500);
            return may;
          };
          return entry.send(request, attemptId, { ...options, mayWrite });
        },
      }),
    }),
  },
  {
    name: 'the write dawdles behind its permission',
    shows: /behind the commit that permits it/,
    deps: ({ host }) => ({
      wrapEntry: (entry) => ({
        send: (request, attemptId, options) => {
          const mayWrite = async () => {
            const may = await options.mayWrite();
            await host.clock.sleep(1_500);
            return may;
          };
          return entry.send(request, attemptId, { ...options, mayWrite, mayStillWrite: () => true });
        },
      }),
    }),
  },
];
