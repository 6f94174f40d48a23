// What `serve` asks of Node and of the allocator. A sandbox with millions of orders needs more, so
// other commands run with the sizes that Node chooses.

/** Options of Node, each with its reason. */
const nodeFlags = [
  {
    flag: '--max-semi-space-size=8',
    why: 'V8 sizes the young generation by the machine: 134 MB with 24 GB, and its pauses grow with it',
  },
  {
    flag: '--max-old-space-size=1024',
    why: 'what runs away ends at a bound, and not with the memory of the machine',
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

const sizes = /--(max|min|initial)[-_](semi|old|heap)|--heap[-_]growing/;

/** The flags that this process lacks: none where somebody chose sizes of the heap. */
export function missingFlags() {
  const chosen = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((option) => sizes.test(option));
  return process.argv[2] !== 'serve' || chosen ? [] : nodeFlags.map(({ flag }) => flag);
}

/** The environment for a process that starts with these flags. */
export function environment(flags) {
  if (flags.length === 0) return process.env;
  return { ...Object.fromEntries(allocator.map(({ name, value }) => [name, value])), ...process.env };
}
