import { InvalidArgumentError } from 'commander';

/** Reads a flag whose text has this shape. `fault` is what a person sees for any other text. */
export function shaped(shape: RegExp, fault: string): (text: string) => string {
  return (text) => {
    if (shape.test(text)) return text;
    throw new InvalidArgumentError(fault);
  };
}

/** The same for a number. */
export function shapedNumber(shape: RegExp, fault: string): (text: string) => number {
  const read = shaped(shape, fault);
  return (text) => Number(read(text));
}
