import { z } from 'zod';

/**
 * Fields a platform may leave out. Null and the empty text are ways to leave one out, and a number
 * stands for its text. A field nothing depends on never decides about an answer: if it can't be
 * read it is absent.
 */
export function optionalField<Shape extends z.ZodType>(shape: Shape) {
  return z.preprocess(presentOf, shape.optional()).catch(undefined);
}

/** A text as our own side writes it, and as an answer's documents have it. */
export const text = z.string();
export const textOrNone = text.optional();

/** A text nothing depends on. */
export const optionalText = optionalField(z.preprocess(textOf, z.string()));

/** A text for people, empty if there is none. */
export const shownText = optionalText.transform((text) => text ?? '');

/** Without this text the answer says nothing. Never empty. */
export const neededText = z.preprocess(textOf, z.string().min(1));

/** A list. Null is the empty one: some servers write it so. */
export function listOf<Shape extends z.ZodType>(shape: Shape) {
  return z.preprocess((value) => (value === null ? [] : value), z.array(shape));
}

/**
 * A list without the items that can't be read: one bad item must not hide the others. Null is the
 * empty list.
 */
export function readableOf<Shape extends z.ZodType>(shape: Shape) {
  return listOf(z.unknown()).transform((items) =>
    items.flatMap((item) => {
      const read = shape.safeParse(item);
      return read.success ? [read.data] : [];
    }),
  );
}

/** A truth value, sent as such or as its word in any case. */
export const neededFlag = z.preprocess(flagOf, z.boolean());

/** A truth value's word as the truth value; anything else as it is. */
export function flagOf(value: unknown): unknown {
  const word = typeof value === 'string' ? value.trim().toLowerCase() : undefined;
  return word === 'true' ? true : word === 'false' ? false : value;
}

function presentOf(value: unknown): unknown {
  return value === null || value === '' ? undefined : value;
}

function textOf(value: unknown): unknown {
  return typeof value === 'number' ? String(value) : value;
}
