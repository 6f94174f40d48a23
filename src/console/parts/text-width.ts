/** The page's text size, in pixels (base.css). */
export const rootPixels = 13;

/** As in base.css, which may come later than the first widths are wanted. */
const plain = 'system-ui, "Segoe UI", Roboto, sans-serif';
const code = 'ui-monospace, "SF Mono", Menlo, Consolas, monospace';

/** For each letter: the page may round its width up. */
const spare = 0.15;

type Font = 'plain' | 'bold' | 'code';

const letters = new Map<string, number>();
let pen: CanvasRenderingContext2D | null | undefined;

/**
 * How wide a text is at most, in rem: its letters added up, each measured once. To lay out the
 * page for each row would take longer than a frame. `code`: in the ids' font.
 */
export function textWidth(text: string, font: Font): number {
  let pixels = 0;
  for (const letter of text) pixels += letterWidth(letter, font);
  return pixels / rootPixels;
}

function letterWidth(letter: string, font: Font): number {
  const known = letters.get(font + letter);
  if (known !== undefined) return known;
  pen ??= document.createElement('canvas').getContext('2d');
  if (pen === null) return rootPixels;
  pen.font = `${font === 'bold' ? 600 : 400} ${rootPixels}px ${font === 'code' ? code : plain}`;
  const width = pen.measureText(letter).width + spare;
  letters.set(font + letter, width);
  return width;
}
