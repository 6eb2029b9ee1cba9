import type { IncomingMessage } from "node:http";
import { errorsAnswer, Refusal } from "./answers.ts";

/** The largest form or JSON body of any endpoint is well under one KiB. */
const BODY_BYTES_MAX = 64 * 1024;

/** The body as text. Throws Refusal 413; not by `for await`, which destroys the socket and the answer with it. */
export function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= BODY_BYTES_MAX) {
        chunks.push(chunk);
        return;
      }
      request.removeAllListeners("data");
      request.pause();
      const answer = errorsAnswer(413, "BODY_TOO_LARGE", `The body is larger than ${BODY_BYTES_MAX} bytes.`);
      reject(new Refusal({ ...answer, headers: { ...answer.headers, connection: "close" } }));
    });
    request.once("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
    request.once("error", reject);
    request.once("close", () =>
      reject(new Refusal(errorsAnswer(400, "BODY_ABORTED", "The body ended early."))),
    );
  });
}
