import { getHeapStatistics } from 'node:v8';

// What `serve` asks of Node and of the allocator. A sandbox with millions of orders needs more, so
// other commands run with the sizes that Node chooses.

const MiB = 2 ** 20;

/** What the container may use, in MiB; far above any machine without one. */
const containerMiB = (process.constrainedMemory?.() || Number.POSITIVE_INFINITY) / MiB;

/** Buffers and code lie beside the heap: a container of 1,536 MiB has room for all of it. */
const oldSpaceMiB = Math.floor(Math.min(1024, (containerMiB * 2) / 3));

/** Options of Node, each with its reason. */
const nodeFlags = [
  {
    flag: '--max-semi-space-size=8',
    why: 'V8 sizes the young generation by the machine: 134 MB with 24 GB, and its pauses grow with it',
  },
  {
    flag: `--max-old-space-size=${oldSpaceMiB}`,
    why: 'what runs away ends at a bound and says so; a machine or a container without memory kills it without a word',
  },
  {
    flag: '--heap-growing-percent=100',
    why: 'at 1.5 times what lives in it, V8 collected all of the heap each 0.6 s, and commits waited',
  },
];

/** Variables of glibc's allocator, which reads them before Node begins, each with its reason. */
const allocator = [
  { name: 'MALLOC_ARENA_MAX', value: '1', why: 'a heap for each thread keeps memory that nothing uses' },
  { name: 'MALLOC_MMAP_THRESHOLD_', value: '131072', why: 'large buffers lie outside the heap' },
  { name: 'MALLOC_TRIM_THRESHOLD_', value: '131072', why: 'and what was freed goes back at once' },
];

/** Sizes of the heap, and a profiler: its signals would end a process that starts anew. */
const ownWay = /--(max|min|initial)[-_](semi|old|heap)|--heap[-_]growing|--(cpu[-_])?prof/;

/** The flags that this process lacks: none where somebody chose sizes of the heap, or profiles. */
export function missingFlags() {
  const chosen = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((option) => ownWay.test(option));
  return process.argv[2] !== 'serve' || chosen ? [] : nodeFlags.map(({ flag }) => flag);
}

/** Undefined: the heap of this process stays within its container. */
export function heapBeyondContainer() {
  const heapMiB = Math.round(getHeapStatistics().heap_size_limit / MiB);
  if (process.argv[2] !== 'serve' || heapMiB < containerMiB) return undefined;
  return `tidemark: the heap may grow to ${heapMiB} MiB, and the container has ${Math.round(containerMiB)} MiB: the process could be killed without a word. Choose a smaller --max-old-space-size in NODE_OPTIONS, or leave it out\n`;
}

/** The environment for a process that starts with these flags. */
export function environment(flags) {
  if (flags.length === 0) return process.env;
  return { ...Object.fromEntries(allocator.map(({ name, value }) => [name, value])), ...process.env };
}
