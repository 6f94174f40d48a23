/** The media type of a `content-type` header in lower case, without its parameters; empty when there is none. */
export function mediaTypeOf(contentType: string | undefined): string {
  return contentType?.split(';')[0]?.trim().toLowerCase() ?? '';
}
