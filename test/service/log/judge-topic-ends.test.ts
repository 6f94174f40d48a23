import { expect, it } from 'vitest';
import { type FoundTopic, judgeTopicEnds } from '../../../src/service/log/judge-topic-ends.ts';
import type { PublishedTopic } from '../../../src/store/published-topics.ts';

const topic = (ends: FoundTopic['ends'], name = 't.state'): FoundTopic => ({ kind: 'state', name, ends });
const published = (ends: readonly string[], lost: string | null = null): PublishedTopic[] => [
  { kind: 'state', name: 't.state', ends, lost },
];

it.each([
  ['the same ends', topic(['7', '3']), published(['7', '3']), []],
  ['higher ends, above what a number holds', topic(['9007199254740993']), published(['9007199254740992']), []],
  ['a lower end of one partition', topic(['9', '2']), published(['7', '3']), [/partition 1 ended at 2 .* at 3$/]],
  ['made again, and empty', topic(['0', '0']), published(['0', '1']), [/deleted and made again.* 0 .* 1$/]],
  ['made again with fewer partitions', topic(['9']), published(['7', '3']), [/partition 1 ended at 0/]],
  ['more partitions than before', topic(['7', '3', '0']), published(['7', '3']), []],
  ['a topic that is gone', topic(undefined), published(['1']), [/t\.state is gone/]],
  ['another name', topic(['9'], 'x.state'), published(['1']), [/x\.state has nothing of t\.state/]],
  ['a loss that was seen, though it grew past it', topic(['99']), published(['7'], 'lost at 3'), [/^lost at 3$/]],
  ['never seen', topic(['7']), [], []],
  ['never there', topic(undefined), [], []],
])('%s', (_, found, kept, doubts) => {
  const { replaced, seen } = judgeTopicEnds([found], kept);
  expect(replaced.map(({ detail }) => detail)).toEqual(doubts.map((words) => expect.stringMatching(words)));
  const { ends } = found;
  expect(seen).toEqual(ends === undefined ? [] : [{ ...found, lost: replaced[0]?.detail ?? null }]);
});
