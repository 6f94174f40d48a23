/** Works through all items, at most `width` at a time. Rejects with the first error, once everything that had begun has ended. */
export async function inParallel<T>(items: Iterable<T>, width: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items].reverse();
  const run = async () => {
    for (let item = queue.pop(); item !== undefined; item = queue.pop()) await work(item);
  };
  const results = await Promise.allSettled(Array.from({ length: Math.min(width, queue.length) }, run));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
