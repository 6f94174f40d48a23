import { WriteStream } from 'node:tty';
import { styleText } from 'node:util';

export const colourChoices = ['auto', 'always', 'never'] as const;
type ColourChoice = (typeof colourChoices)[number];
type Output = 'stdout' | 'stderr';
type Tone = keyof typeof styles;

/** Directions are neither green nor red: which one is good differs between countries. */
const styles = { good: 'green', caution: 'yellow', bad: 'red', quiet: 'dim', buy: 'cyan', sell: 'magenta' } as const;

const words: Readonly<Record<Tone, readonly string[]>> = {
  good: ['ok', 'filled'],
  caution: ['warn', 'unknown', 'suspended'],
  bad: ['fail', 'rejected'],
  quiet: ['canceled', 'expired', 'replaced', 'done_for_day'],
  buy: ['buy', 'buy_to_cover'],
  sell: ['sell', 'sell_short'],
};

interface ColourSettings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Which outputs a terminal shows. */
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/** Colours for the few words by which a person finds the right line. `--json` never has any. */
export class Colours {
  private readonly settings: ColourSettings;
  private choice: ColourChoice = 'auto';

  constructor(settings: ColourSettings) {
    this.settings = settings;
  }

  /** `--color` wins over the environment. */
  choose(choice: ColourChoice): void {
    this.choice = choice;
  }

  /** By Node's own rules: FORCE_COLOR, then NO_COLOR and TERM, on a terminal. */
  areOn(output: Output): boolean {
    const { env } = this.settings;
    if (this.choice !== 'auto') return this.choice === 'always';
    return (env['FORCE_COLOR'] !== undefined || this.settings[output]) && WriteStream.prototype.getColorDepth(env) > 2;
  }

  paint(tone: Tone, text: string, output: Output = 'stdout'): string {
    return this.areOn(output) ? styleText(styles[tone], text, { validateStream: false }) : text;
  }

  /** The text in the tone of its word; padding does not count. */
  word(text: string, output?: Output): string {
    const tone = (Object.keys(words) as Tone[]).find((each) => words[each].includes(text.trimEnd()));
    return tone === undefined ? text : this.paint(tone, text, output);
  }
}
