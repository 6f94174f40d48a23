import { z } from 'zod';

/**
 * Fields that a platform may leave out. Null and the empty text are ways to leave one out, and a
 * number stands for its text. What nothing depends on never decides about an answer: where it can't
 * be read it is absent.
 */
export function optionalField<Shape extends z.ZodType>(shape: Shape) {
  return z.preprocess(presentOf, shape.optional()).catch(undefined);
}

/** A text that nothing depends on. */
export const optionalText = optionalField(z.preprocess(textOf, z.string()));

/** A text for people, empty where there is none. */
export const shownText = optionalText.transform((text) => text ?? '');

/** A text without which the answer says nothing. Never empty. */
export const neededText = z.preprocess(textOf, z.string().min(1));

/** A list, where null is the empty one: so some servers write it. */
export function listOf<Shape extends z.ZodType>(shape: Shape) {
  return z.preprocess((value) => (value === null ? [] : value), z.array(shape));
}

/**
 * A list of which the items that can't be read are left out: one bad item must not
 * hide the others. Null is the empty list.
 */
export function readableOf<Shape extends z.ZodType>(shape: Shape) {
  return listOf(z.unknown()).transform((items) =>
    items.flatMap((item) => {
      const read = shape.safeParse(item);
      return read.success ? [read.data] : [];
    }),
  );
}

/** Whether a truth value was sent, as such or as its word. */
export const neededFlag = z.preprocess(
  (value) => (value === 'true' ? true : value === 'false' ? false : value),
  z.boolean(),
);

function presentOf(value: unknown): unknown {
  return value === null || value === '' ? undefined : value;
}

function textOf(value: unknown): unknown {
  return typeof value === 'number' ? String(value) : value;
}
