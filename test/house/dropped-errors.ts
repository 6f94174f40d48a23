import ts from 'typescript';

/**
 * Where the service drops an error with a value in its place, how often a file does, and why
 * nothing that is checked depends on it.
 */
export const droppedErrors: Readonly<Record<string, readonly [times: number, why: string]>> = {
  'src/config/database-address.ts': [1, 'the text is not encoded, which is what was asked'],
  'src/observability/open-tracing.ts': [1, 'traces'],
  'src/runtime/cache-folder.ts': [1, 'without a home the program ends with a sentence of its own'],
  'src/runtime/json-or-undefined.ts': [1, 'the text is not JSON, which is what was asked'],
  'src/runtime/proxies.ts': [1, 'the text is no proxy, and the setting is refused'],
  'src/service/commands/await-command.ts': [1, 'it is read again until the caller waits no more'],
  'src/service/commands/cancel-all/cancel-all-run.ts': [1, 'a cancel is shown as it was answered'],
  'src/service/commands/cancel-all/cancel-timers.ts': [1, 'a timer counts as not ended, and is tried again'],
  'src/service/commands/halts.ts': [1, 'halts are read again; without the database no command is journaled'],
  'src/service/commands/operator-service.ts': [1, 'the answer says that the journal could not be reached'],
  'src/service/commands/resolver.ts': [1, 'each command is still behind, and tries for itself'],
  'src/service/commands/submit-command.ts': [1, 'not found counts as not known, and is answered so'],
  'src/service/fleet/lane-finisher.ts': [1, 'the error is awaited elsewhere; there may be no one who waits here'],
  'src/service/fleet/lane-keeper.ts': [1, 'the turn before has told its own caller'],
  'src/service/fleet/own-fitness.ts': [1, 'Kafka has not worked, so the process stays unhealthy'],
  'src/service/fleet/shard-moves.ts': [1, 'not everything is published, so no shard is given'],
  'src/service/fleet/shard-keeper.ts': [1, 'the time for the end of the process is over'],
  'src/service/log/consumer-groups.ts': [1, 'shown as not available'],
  'src/service/log/follow-topic.ts': [1, 'its crash is awaited elsewhere'],
  'src/service/log/kafkajs/kafka-client.ts': [1, 'a connection is closed, or a producer is thrown away'],
  'src/service/log/log-publisher.ts': [1, 'a checkpoint that can not go along is sent alone'],
  'src/service/log/checkpoint-reader.ts': [1, 'the read before has told its own caller'],
  'src/service/log/pending-watch.ts': [1, 'the gauges keep their last value'],
  'src/service/log/checkpoint-writer.ts': [
    2,
    'a head start: a send that needs the checkpoint writes it again; a record of another program is no checkpoint',
  ],
  'src/service/orders/ingest.ts': [1, 'the drain goes on; what did not commit is read again at the next start'],
  'src/service/rest/auth/jwt-verifier.ts': [1, 'the token is refused already, and its header is only told'],
  'src/service/rest/routes/halts.ts': [1, 'the halt does not wait for it, and the answer leaves it out'],
  'src/service/rest/send-command.ts': [1, 'the answer goes without its evidence'],
  'src/service/rest/stream/stream-hub.ts': [1, 'the callers look again'],
  'src/service/rest/stream/unacknowledged.ts': [1, 'without these bytes no reader counts as gone'],
  'src/service/sources/account-reader.ts': [1, 'the save before has told its own caller'],
  'src/service/sources/source.ts': [1, 'only paces heartbeats'],
  'src/store/migrate.ts': [4, 'a connection is closed, or is no use any more'],
  'src/store/orders/postgres-orders.ts': [1, 'a connection that never opened is closed'],
  'src/store/session/retry-transaction.ts': [1, 'the session is gone, so the fate of its write is unknown'],
  'src/venue/platform/acquire-token.ts': [1, 'a claim ends by itself'],
  'src/service/run/recorder.ts': [1, 'another process removed the file'],
};

/**
 * The lines of a file where an error is dropped with a constant in its place: a `catch` that does
 * not name the error, or a handler of a rejection, and whose every end is a constant. One that
 * tells of the error, or chooses by it, drops nothing.
 */
export function droppedAt(path: string, text: string): number[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const isConstant = constantsOf(source);
  const found: number[] = [];
  const visit = (node: ts.Node): void => {
    const drops = ts.isCatchClause(node)
      ? !usesError(node.variableDeclaration?.name, node.block) && endsInConstant(node.block, isConstant)
      : handlersOf(node).some((handler) => dropsRejection(handler, isConstant));
    if (drops) found.push(source.getLineAndCharacterOfPosition(node.getEnd()).line + 1);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** What a call gives a promise to run after its rejection. */
function handlersOf(node: ts.Node): readonly ts.Expression[] {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return [];
  const { text } = node.expression.name;
  return text === 'catch' ? node.arguments.slice(0, 1) : text === 'then' ? node.arguments.slice(1) : [];
}

function dropsRejection(handler: ts.Expression, isConstant: IsConstant): boolean {
  if (!ts.isArrowFunction(handler) && !ts.isFunctionExpression(handler)) return false;
  const { body, parameters } = handler;
  if (parameters.some(({ name }) => usesError(name, body))) return false;
  return ts.isBlock(body) ? endsInConstant(body, isConstant) : isConstant(body);
}

function usesError(name: ts.BindingName | undefined, body: ts.Node): boolean {
  if (name === undefined) return false;
  // A part of it is taken.
  if (!ts.isIdentifier(name)) return true;
  const uses = (node: ts.Node): boolean =>
    ts.isIdentifier(node) ? node.text === name.text : (ts.forEachChild(node, uses) ?? false);
  return uses(body);
}

/** It does nothing, or it may do something first and then gives a constant wherever it ends. */
function endsInConstant(block: ts.Block, isConstant: IsConstant): boolean {
  const ends: (ts.ReturnStatement | ts.ThrowStatement)[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node)) return;
    if (ts.isReturnStatement(node) || ts.isThrowStatement(node)) ends.push(node);
    ts.forEachChild(node, visit);
  };
  visit(block);
  if (ends.length === 0) return block.statements.every(ts.isBreakOrContinueStatement);
  return ends.every((end) => ts.isReturnStatement(end) && (end.expression === undefined || isConstant(end.expression)));
}

type IsConstant = (node: ts.Expression) => boolean;

/** Values that are the same each time: words of the language, and constants of the file itself. */
function constantsOf({ statements }: ts.SourceFile): IsConstant {
  const named = statements
    .filter(ts.isVariableStatement)
    .flatMap(({ declarationList }) => declarationList.declarations.map(({ name }) => name.getText()));
  const names: ReadonlySet<string> = new Set(['undefined', ...named]);
  const isConstant: IsConstant = (node) => {
    if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node)) return isConstant(node.expression);
    if (ts.isArrayLiteralExpression(node)) return node.elements.every(isConstant);
    if (ts.isObjectLiteralExpression(node)) return node.properties.length === 0;
    return ts.isIdentifier(node) ? names.has(node.text) : ts.isLiteralExpression(node) || words.has(node.kind);
  };
  return isConstant;
}

const words: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.TrueKeyword,
  ts.SyntaxKind.FalseKeyword,
  ts.SyntaxKind.NullKeyword,
]);
