import {
  httpActionGeneric as httpAction,
  httpRouter,
  makeFunctionReference,
  queryGeneric as query,
} from "convex/server";
import { ConvexError } from "convex/values";

const http = httpRouter();
const echo = httpAction(async (_ctx, request) => {
  const body = await request.arrayBuffer();
  return Response.json({
    method: request.method,
    url: request.url,
    headers: Object.fromEntries(request.headers),
    bytes: [...new Uint8Array(body.slice(0, 16))],
    size: body.byteLength,
  });
});
for (const method of ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"] as const) {
  http.route({ path: "/echo", method, handler: echo });
}
http.route({ pathPrefix: "/files/", method: "GET", handler: echo });

http.route({
  path: "/who",
  method: "GET",
  handler: httpAction(async (ctx) =>
    Response.json({
      own: (await ctx.auth.getUserIdentity())?.subject ?? null,
      nested: await ctx.runQuery(makeFunctionReference<"query">("who:innerQuery"), {}),
    }),
  ),
});

http.route({
  path: "/bytes",
  method: "POST",
  handler: httpAction(
    async (_ctx, request) =>
      new Response(request.body, {
        status: 201,
        headers: { "content-type": "application/octet-stream", "x-own": "yes" },
      }),
  ),
});

/** Answers in pieces, each of which needs a query. */
http.route({
  path: "/stream",
  method: "GET",
  handler: httpAction(async (ctx) => {
    let left = 3;
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const seen = (await ctx.runQuery(makeFunctionReference<"query">("who:seen"), {})) as unknown[];
        controller.enqueue(encoder.encode(`${left} ${seen.length}\n`));
        if (--left === 0) controller.close();
      },
    });
    const headers = new Headers({ "content-type": "text/event-stream" });
    headers.append("set-cookie", "a=1");
    headers.append("set-cookie", "b=2");
    return new Response(body, { headers });
  }),
});

http.route({
  path: "/breaks-off",
  method: "GET",
  handler: httpAction(async () => {
    let isFirst = true;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (!isFirst) throw new Error("no more");
        isFirst = false;
        controller.enqueue(new TextEncoder().encode("begun"));
      },
    });
    return new Response(body);
  }),
});

http.route({
  path: "/fails",
  method: "POST",
  handler: httpAction(async (_ctx, request) => {
    const what = await request.text();
    if (what === "data") throw new ConvexError({ code: "refused", big: 5n });
    if (what === "used") {
      const used = new Response("text");
      await used.text();
      return used;
    }
    if (what === "nothing") return undefined as unknown as Response;
    throw new TypeError(`plain failure with ${process.env["TEST_SECRET"]}`);
  }),
});
http.route({
  path: "/ignores-body",
  method: "POST",
  handler: httpAction(async () => new Response(null, { status: 204 })),
});

/** Where functions are told that they can be reached. */
http.route({
  path: "/address",
  method: "GET",
  handler: httpAction(async () => new Response(process.env["CONVEX_SITE_URL"])),
});

export default http;
export const beside = query({ args: {}, handler: async () => "a function beside the routes" });
