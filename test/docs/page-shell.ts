import { runProgram } from '../../src/cli/program.ts';
import { cliIo } from '../support/rest/cli-io.ts';

interface PageShellOptions {
  /** What the shell of the reader has set. */
  readonly env: Readonly<Record<string, string>>;
  /** What `$NAME` is before the page sets anything. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Takes what the page posts to the sandbox's control port with curl. */
  readonly post: (path: string, body: object) => Promise<unknown>;
}

/**
 * The shell of a page: runs its lines in this process, since starting the program forty times takes
 * minutes. It knows `A=b tidemark …`, quotes, `$NAME`, `| head -n N`, `| tail -n N`, `| grep WORD`,
 * `| grep -A1 WORD`, `; echo "code $?"`, `NAME=$(tidemark … | jq -r '.[0].field')`, and curl to
 * `$CONTROL`. Throws on any other line.
 */
export class PageShell {
  private readonly kept: Record<string, string> = {};
  private readonly options: PageShellOptions;

  constructor(options: PageShellOptions) {
    this.options = options;
    Object.assign(this.kept, options.variables);
  }

  /** What the line prints, on both outputs as a terminal has them. */
  async run(line: string): Promise<string> {
    const posted = /^curl .*\$CONTROL(\/\S+) .*-d '(.*)'$/.exec(line);
    if (posted !== null) {
      await this.options.post(posted[1] ?? '', JSON.parse(posted[2] ?? ''));
      return '';
    }
    const assigned = /^([A-Z]+)=\$\((tidemark .*) \| jq -r '\.\[0\]\.(\w+)'\)$/.exec(line);
    if (assigned !== null) {
      const [, name = '', command = '', field = ''] = assigned;
      this.kept[name] = JSON.parse((await this.tidemark(command)).out)[0][field];
      return '';
    }
    const parsed = /^(.*?tidemark .*?)(?: \| ((?:head|tail|grep) .*?))?(; echo "code \$\?")?$/.exec(line);
    if (parsed === null) throw new Error(`the page has a line that its shell does not know: ${line}`);
    const [, command = '', filter, code] = parsed;
    const ran = await this.tidemark(command);
    const shown = through(filter, ran.out.split('\n').slice(0, -1));
    const said = ran.err === '' ? [] : [ran.err.trimEnd()];
    return [...said, ...shown, ...(code === undefined ? [] : [`code ${ran.code}`])].join('\n');
  }

  private async tidemark(command: string) {
    const words = [...command.matchAll(/(?:[^\s'"]+|'[^']*'|"[^"]*")+/g)].map(([word]) =>
      word.replace(/'([^']*)'|"([^"]*)"/g, '$1$2').replace(/\$([A-Z]+)/g, (_, name: string) => this.kept[name] ?? ''),
    );
    const at = words.indexOf('tidemark');
    const env = Object.fromEntries(words.slice(0, at).map((word) => word.split('=', 2) as [string, string]));
    const io = Object.assign(cliIo({ ...this.options.env, ...env }), { columns: 100 });
    await runProgram(io, words.slice(at + 1));
    return { out: io.out(), err: io.err(), code: io.code() };
  }
}

function through(filter: string | undefined, lines: readonly string[]): readonly string[] {
  if (filter === undefined) return lines;
  const [, program, count, also, word = ''] = /^(?:(head|tail) -n (\d+)|grep (-A1 )?(\S+))$/.exec(filter) ?? [];
  if (program === 'head') return lines.slice(0, Number(count));
  if (program === 'tail') return lines.slice(-Number(count));
  if (word === '') throw new Error(`the page has a filter that its shell does not know: ${filter}`);
  const isIn = (line: string | undefined) => line?.includes(word) === true;
  return lines.filter((line, i) => isIn(line) || (also !== undefined && isIn(lines[i - 1])));
}
