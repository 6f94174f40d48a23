/**
 * As many characters of an id as a terminal shows. Among ten thousand random ids, two end alike
 * once in a hundred times.
 */
const shown = 8;

/** The end of a long id: ids counting upwards, or beginning with a time, differ there. */
export function shortId(id: string): string {
  return id.length > shown + 4 ? id.slice(-shown) : id;
}

/** Whether `given` is the id, or its shown end. */
export function namesOrder(given: string, orderId: string): boolean {
  return given === orderId || given === shortId(orderId);
}
