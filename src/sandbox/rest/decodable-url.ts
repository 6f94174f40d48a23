/**
 * The address with a path that can be decoded. An id like `%zz` is taken as it stands, so that the route answers: token first, then in its own shape that
 * there is no such order, with a line in the ledger. The router alone would answer 400 to everybody, in a shape that nothing documents.
 */
export function decodableUrl(url: string): string {
  const end = url.indexOf('?');
  const path = end < 0 ? url : url.slice(0, end);
  if (!path.includes('%') || isDecodable(path)) return url;
  return path.replaceAll('%', '%25') + url.slice(path.length);
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
