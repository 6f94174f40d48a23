import ts from 'typescript';

const openers: ReadonlySet<string> = new Set(['UndiciHttp', 'SocketWriteLines', 'wsSocketFactory']);

/** The calls of a file that open a way to the platform, and are given no `proxies`. */
export function openedDirectly(path: string, text: string): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && openers.has(node.expression.getText())) {
      const given = node.arguments ?? ts.factory.createNodeArray<ts.Expression>();
      if (!given.some(namesProxies)) found.push(node.getText());
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function namesProxies(node: ts.Node): boolean {
  if (ts.isIdentifier(node)) return node.text === 'proxies';
  return ts.forEachChild(node, namesProxies) ?? false;
}
