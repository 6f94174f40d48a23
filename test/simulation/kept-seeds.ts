/**
 * Seeds that failed once, and what they showed. They run with every test run, whatever the range of
 * the day. What a number plays may change when the simulator does.
 */
export const keptSeeds: ReadonlyMap<number, string> = new Map([
  [
    15,
    'a frame that Postgres refuses was taken because a later one of the same batch was clean (a fault of the simulator)',
  ],
  [17, 'the timer of a probe fired the last digit too early, and was armed for the same instant without end'],
  [66, 'prediction orders at an old version for good: a store lost before the first complete read'],
  [71, 'the end of a connection overtook an event of the same instant by a rounding (a fault of the simulator)'],
  [89, 'a look for a successor found no room in a small budget, every time'],
  [93, 'as 66'],
  [131, 'a cancel of an order that nobody moved any more (a fault of the simulator)'],
  [194, 'an answer about another order was about the right one (a fault of the simulator)'],
  [246, 'as 66, with the frame of the old store waiting in the queue while the database was down'],
  [312, 'a process was draining when the run was called healed (a fault of the simulator)'],
  [319, 'a correction brought back an order whose cancel had come too late (a fault of the simulator)'],
  [321, 'the platform called an order certain again before it had told of its lost store (a fault of the simulator)'],
  [327, 'a corrected order filled on beyond what had been taken back, unseen: it keeps its end and is in conflict'],
  [393, 'as 66, on an account whose subscription was not answered'],
  [
    420,
    'a cancel was refused before anybody saw it pending: it stays accepted, and is told (a fault of the simulator)',
  ],
  [438, 'a list showed rows from before the loss of its store (a fault of the simulator)'],
  [588, 'one stream of an account was followed, the other never'],
  [602, 'more commands than fit in memory, all of them unknown: those behind them are not looked at'],
  [632, 'the answer to the journaling of a cancel-all was lost: it was in force, and no process carried it out'],
  [641, 'two cancels of one order: the refusal of the first was taken for that of the second'],
  [898, 'a replace of what nothing shows, never seen pending, stays unknown (a fault of the simulator)'],
  [1023, 'our clock was fast when an empty list was marked as read: what came later was never seen'],
  [1540, 'an older connection answered last, and the account went down with it'],
  [1994, 'an answer and the end of its connection in one piece: live without a read'],
  [2297, 'the connection that was replaced had been dead for a moment already'],
  [2635, 'counts were compared while a batch was in flight (a fault of the simulator)'],
  [2850, 'as 1023'],
  [3990, 'the connection that was to replace the present one ended, and nobody asked the present one'],
  [4513, 'as 2297'],
  [5123, 'a connection that went silent while it opened (a fault of the simulator: no deadline for the handshake)'],
  [5540, 'as 1994'],
  [5713, 'as 1023, with the clock set back afterwards'],
  [5887, 'as 1994'],
  [5958, 'as 1994'],
  [1846, 'a process crashed while the run was ending, and was started again (a fault of the simulator)'],
  [6256, 'as 1994'],
  [6390, 'as 1994'],
  [10167, 'presumed absent after 15 s: the clock of the process that took over was an hour fast'],
  [10907, 'a correction brought back an order whose cancel had found it filled (a fault of the simulator)'],
  [11040, 'as 321'],
  [11505, 'a cancel that somebody else asked for of their own order was refused, and ours was still on its way'],
  [11674, 'a slow drain ended with the run, and its process was started again (a fault of the simulator)'],
  [
    13654,
    'the reason of a cancel that was refused before a replace was in hand was taken for the refusal of the replace',
  ],
  [14001, 'as 13654'],
  [
    16563,
    'as 2297, with a second handover before the dead connection had ended: its goodbye was taken for that of both',
  ],
  [11997, 'a subscription counted before its process had read so (a fault of the simulator)'],
  [1665, 'an older list of an account ended behind the newer one that made it live (a fault of the simulator)'],
  [
    2437,
    'a wall clock was set back: an instant of that hour was compared with one of the hour before (a fault of the simulator)',
  ],
  [4869, 'a fill was taken back long after the order of a cancel-all had ended (a fault of the simulator)'],
  [1214, 'a cancel-all ended because an account was closed, and its order was open again with it'],
  [
    10466,
    'an account was given away while its first record was written, and marked as read by the process that had given it',
  ],
  [11147, 'the relay saved a position that the database had lost: the rows that got its numbers again were never sent'],
  [14219, 'an account was marked as read after its rows were lost'],
  [
    14641,
    'an older resume arrived behind a newer one, and a halt between them counted as acknowledged (a fault of the simulator)',
  ],
  [15207, 'a halt was written behind its own resume, by a statement whose answer was lost (a fault of the simulator)'],
  [15586, 'a write that was not answered outlasted a drain that was shorter than it (a fault of the simulator)'],
  [16937, 'the database lost commits while the last process drained: revisions were given again'],
  [1693, 'as 89, with reads of accounts that kept the budget empty'],
  [2951, 'batches of marks alone were lost, and their numbers given again: the proofs showed a hole'],
  [7081, 'as 2951'],
  [9025, 'the database came back without the introduction of the only process, which then wanted no shard'],
  [9105, 'a freeing without an answer was done late, and freed the shard that had been taken again'],
  [10550, 'as 2951'],
  [12559, 'as 2951'],
  [13162, 'as 2951'],
  [15033, 'a cancel-all was written down as its term ended, and went on without end'],
  [19764, 'the database came back without the taking of a shard'],
  [3222, 'the last proof could not be read, and the proofs had a distance'],
  [4172, 'as 15207 (a fault of the simulator)'],
  [756, 'lost commits whose states were on the state topic, and whose updates were not on theirs'],
  [8897, 'two lists side by side had the same cursor (a fault of the simulator)'],
  [14883, 'as 8897'],
  [15610, 'a process read the halt of another one, and passed it over while a resume of its own was in flight'],
  [17515, 'as 15610'],
  [9942, 'a finisher was asked for the renewals of the next holder (a fault of the simulator)'],
  [17760, 'as 9942'],
  [10683, 'as 632, and the commit came after the journal was read again'],
  [
    14648,
    'the database lost the taking of a shard after the second look and before the first batch: two processes committed for it',
  ],
  [18953, 'as 14648'],
  [4989, 'a slow drain was ended by a kill when the run had ended (a fault of the simulator)'],
  [348, 'a shard whose taking was lost with its commits was taken by a process that could not ask Kafka'],
  [
    6146,
    'numbers of lost batches given again while Kafka was away: the proofs of consumers showed it, rightly (a fault of the simulator)',
  ],
  [271, 'an account that came into the database behind the last read of it left the list, and nobody said so'],
  [101, 'a process with sick sockets was unhealthy while Kafka was away (a fault of the simulator)'],
  [2442, 'the next probe of a process with a clock an hour ahead was not waited for (a fault of the simulator)'],
  [
    1123,
    'garbage in place of an event, on a dead connection, was held against a process that had read it (a fault of the simulator)',
  ],
  [1028, 'a replace that was journaled late, as sending, was resolved by what another one came to'],
  [
    256,
    'a look for a command went back by our clock, an hour ahead of the platform, and counted as one that missed it',
  ],
  [1220, 'the copy of an event that a list had shown already was held against a process (a fault of the simulator)'],
]);

/** The same, of runs in which people halt beside a loss. */
export const keptForgettingSeeds: ReadonlyMap<number, string> = new Map([
  [
    696,
    'the database lost the takeover of the commands of a shard, and nothing else of it: every write of that shard was refused for good',
  ],
  [
    30_016,
    'the database came back from before its first lane: no generation can begin there, and the halts are put back',
  ],
]);

/** The same, of runs in which the database loses its last commits. */
export const keptLosingSeeds: ReadonlyMap<number, string> = new Map([
  [
    8017,
    'the lane of a dead process was finished from rows whose shards had been freed, which the database no longer knew',
  ],
  [8439, 'as 8017'],
  [
    2510,
    'a taking of a lane that was lost, and the generation after it, gave the same epoch (a fault of the simulator)',
  ],
  [
    3773,
    'a lease under an epoch that its process had held before, in a term whose taking was lost, never allowed to act',
  ],
  [4472, 'as 3773'],
  [4633, 'as 3773'],
  [5450, 'the fence of the journal was kept while the taking of its shard was lost (a fault of the simulator)'],
  [335, 'the row of a single order, read beside a list, was counted as one of the list (a fault of the simulator)'],
  [3, 'a shard was given away in the grace of a doubt (a fault of the simulator)'],
  [9903, 'a cancel of an order that had ended stayed unknown once a list said more of the same end'],
]);

/** Of runs at Alpaca. */
export const keptAlpacaSeeds: ReadonlyMap<number, string> = new Map([
  [54, 'our clock was set back: no order of the last hour was asked for, and one that ended unseen stayed open'],
  [190, 'as 54'],
  [120, 'a session was ended before it had read that it was signed in (a fault of the simulator)'],
  [256, 'a page of orders that share their time was taken for a list of its own (a fault of the simulator)'],
  [484, 'beside an order that cannot be read, a cancel whose order had ended stayed unknown'],
]);
