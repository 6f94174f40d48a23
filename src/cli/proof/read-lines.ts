/** The lines of an NDJSON answer, as they come: it may be larger than memory. Throws when it does not answer with 200. */
export async function* readLines(fetchUrl: typeof fetch, url: string): AsyncGenerator<string, void, undefined> {
  const response = await fetchUrl(url);
  if (!response.ok || response.body === null) throw new Error(`${url} answered ${response.status}`);
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield line;
  }
  if (rest !== '') yield rest;
}
