import { join } from 'node:path';
import ts from 'typescript';

/**
 * What the compiler says of manifests, held against the types of their kinds, which the package
 * kubernetes-types has of Kubernetes' own API description. A field that a kind does not have is an
 * error there.
 */
export function typeErrors(values: readonly { readonly apiVersion: string; readonly kind: string }[]): string[] {
  const file = join(process.cwd(), 'test/manifests-as-code.ts');
  const text = values.map((value, index) => {
    const [group = '', version] = value.apiVersion.includes('/')
      ? value.apiVersion.split('/')
      : ['core', value.apiVersion];
    const type = `import('kubernetes-types/${group.split('.')[0]}/${version}').${value.kind}`;
    return `export const manifest${index}: ${type} = ${JSON.stringify(value)};`;
  });
  const options = { noEmit: true, strict: true, skipLibCheck: true, types: [], target: ts.ScriptTarget.ES2022 };
  const resolved = { ...options, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler };
  const host = ts.createCompilerHost(resolved);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (path) => path === file || fileExists(path);
  host.getSourceFile = (path, language) =>
    path === file ? ts.createSourceFile(path, text.join('\n'), language) : getSourceFile(path, language);
  return ts
    .getPreEmitDiagnostics(ts.createProgram([file], resolved, host))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
