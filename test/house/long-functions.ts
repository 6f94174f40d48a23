import ts from 'typescript';

export const longestFunction = 60;
/** Of a view: the formatter gives each attribute and each child of markup a line of its own. */
export const longestView = 100;

/**
 * The functions that may be longer, by file and name, each with its reason. There are no others.
 */
export const reasonsForLength: Readonly<Record<string, string>> = {
  'src/observability/command-metrics.ts commandMetrics': 'a table of metrics, one entry after the other',
  'src/observability/pipeline-metrics.ts ingestMetrics': 'a table of metrics',
  'src/observability/source-metrics.ts sourceMetrics': 'a table of metrics',
};

interface LongFunction {
  /** "file name". */
  readonly place: string;
  readonly lines: number;
}

/** The functions of a file that have more lines than `most`, comments too. */
export function functionsOver(most: number, path: string, text: string): LongFunction[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: LongFunction[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const lines = node.getText().split('\n').length;
      const name =
        node.name?.getText() ?? (ts.isVariableDeclaration(node.parent) ? node.parent.name.getText() : 'unnamed');
      if (lines > most) found.push({ place: `${path} ${name}`, lines });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
