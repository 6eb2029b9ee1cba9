import type { PlainRequest } from "./http.ts";

/**
 * The same request with its body already here, so that nobody takes his time over it while others wait. Of a body
 * beyond `bytesMax` no more is read than shows that; one that says so beforehand is left as it is. Whoever reads the
 * body finds in it what the connection brought, its break included.
 */
export async function withBodyRead(request: PlainRequest, bytesMax: number): Promise<PlainRequest> {
  const { body, headers } = request;
  if (body === null || Number(headers.get("content-length") ?? "0") > bytesMax) return request;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.byteLength;
      if (bytes > bytesMax) break;
    }
  } catch (error) {
    return { ...request, body: replay(chunks, () => Promise.reject(error)) };
  }
  return { ...request, body: replay(chunks, () => Promise.resolve()) };
}

async function* replay(chunks: readonly Uint8Array[], end: () => Promise<void>): AsyncGenerator<Uint8Array> {
  yield* chunks;
  await end();
}
