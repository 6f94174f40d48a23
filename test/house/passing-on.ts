import ts from 'typescript';

interface PassedOn {
  /** "file Class.method". */
  readonly place: string;
  /** The method that does the work. */
  readonly callee: string;
}

/**
 * The methods of a file that hand their own parameters, as they came, to a method of another
 * object, and do nothing else. A caller could ask that object.
 */
export function passingOn(path: string, text: string): PassedOn[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: PassedOn[] = [];
  const visit = (node: ts.Node): void => {
    const callee = ts.isMethodDeclaration(node) ? calleeOf(node) : undefined;
    if (callee !== undefined && ts.isMethodDeclaration(node))
      found.push({ place: `${path} ${node.name.getText()}`, callee });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function calleeOf({ body, parameters }: ts.MethodDeclaration): string | undefined {
  const [statement, ...more] = body?.statements ?? [];
  if (statement === undefined || more.length > 0) return undefined;
  if (!ts.isReturnStatement(statement) && !ts.isExpressionStatement(statement)) return undefined;
  const { expression } = statement;
  const call = expression !== undefined && ts.isAwaitExpression(expression) ? expression.expression : expression;
  if (call === undefined || !ts.isCallExpression(call) || !ts.isPropertyAccessExpression(call.expression))
    return undefined;
  const { expression: owner, name } = call.expression;
  const isField = ts.isPropertyAccessExpression(owner) && owner.getText().startsWith('this.');
  const given = call.arguments.map((each) => each.getText()).join();
  return isField && given === parameters.map((each) => each.name.getText()).join() ? name.text : undefined;
}
