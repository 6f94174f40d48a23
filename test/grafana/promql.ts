import { parser } from '@prometheus-io/lezer-promql';

/** A metric as an expression uses it. */
export interface Selector {
  readonly metric: string;
  readonly labels: readonly string[];
  /** Values of matchers with `=`, by label. */
  readonly equals: ReadonlyMap<string, string>;
  /** The functions around it, innermost first. */
  readonly functions: readonly string[];
}

interface ReadExpression {
  readonly selectors: readonly Selector[];
  /** Labels of `by`, `on`, `without`, `group_left` … */
  readonly groupings: readonly string[];
  /** The text inside the brackets of range selectors. */
  readonly ranges: readonly string[];
}

type Node = ReturnType<typeof parser.parse>['topNode'];

/** Reads PromQL by Prometheus' own grammar. Throws with the place where it is not PromQL. */
export function readPromql(expr: string): ReadExpression {
  const selectors: Selector[] = [];
  const groupings: string[] = [];
  const ranges: string[] = [];
  const textOf = (node: Node) => expr.slice(node.from, node.to);
  parser.parse(expr).iterate({
    enter(ref) {
      const { node } = ref;
      if (node.type.isError)
        throw new Error(`no PromQL at ${node.from}: ${expr.slice(0, node.from)}▸${expr.slice(node.from)}`);
      if (node.name === 'VectorSelector') selectors.push(selectorOf(node, textOf));
      if (node.name === 'GroupingLabels') groupings.push(...node.getChildren('LabelName').map(textOf));
      if (node.name === 'MatrixSelector') ranges.push(/\[(.*)\]$/.exec(textOf(node))?.[1] ?? '');
    },
  });
  return { selectors, groupings, ranges };
}

function selectorOf(node: Node, textOf: (node: Node) => string): Selector {
  const name = node.getChild('Identifier');
  const matchers = (node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? []).map((matcher) =>
    textOf(matcher),
  );
  const parts = matchers.map((matcher) => /^(\w+)\s*(=~|!~|!=|=)\s*"(.*)"$/s.exec(matcher));
  const equals = new Map<string, string>();
  for (const match of parts) if (match?.[2] === '=') equals.set(match[1] ?? '', match[3] ?? '');
  return {
    metric: name === null ? '' : textOf(name),
    labels: parts.map((match) => match?.[1] ?? ''),
    equals,
    functions: functionsAround(node, textOf),
  };
}

function functionsAround(node: Node, textOf: (node: Node) => string): string[] {
  const names: string[] = [];
  for (let at = node.parent; at !== null; at = at.parent) {
    const name = at.getChild('FunctionIdentifier') ?? at.getChild('AggregateOp');
    if (name !== null) names.push(textOf(name));
  }
  return names;
}
