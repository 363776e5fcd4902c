/**
 * The body of an HTTP answer, or undefined where it is larger than `maxBytes`: then no more is read and the connection is closed.
 * A `content-length` that says so is believed before anything is read.
 */
export async function boundedBytes(response: Response, maxBytes: number): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  let size = 0;
  if (Number(response.headers.get("content-length")) > maxBytes) {
    await response.body?.cancel();
    return undefined;
  }
  // leaving the loop cancels the body
  for await (const part of response.body ?? []) {
    size += part.length;
    if (size > maxBytes) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts, size);
}

/** The same as text. */
export async function boundedText(response: Response, maxBytes: number): Promise<string | undefined> {
  const bytes = await boundedBytes(response, maxBytes);
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
}
