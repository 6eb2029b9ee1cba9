import { httpActionGeneric as httpAction, httpRouter, makeFunctionReference } from "convex/server";

const http = httpRouter();

const show = httpAction(async (_ctx, request) => {
  const url = new URL(request.url);
  return Response.json({
    method: request.method,
    path: url.pathname,
    search: url.search,
    own: request.headers.get("x-own"),
    body: [...new Uint8Array(await request.arrayBuffer())],
  });
});
http.route({ path: "/show", method: "GET", handler: show });
http.route({ path: "/show", method: "POST", handler: show });
http.route({ path: "/show", method: "OPTIONS", handler: show });
http.route({ pathPrefix: "/below/", method: "GET", handler: show });
http.route({
  path: "/below/exactly",
  method: "GET",
  handler: httpAction(async () => new Response("exact", { status: 202, headers: { "x-answer": "yes" } })),
});

http.route({
  path: "/count",
  method: "POST",
  handler: httpAction(async (ctx) => {
    await ctx.runMutation(makeFunctionReference<"mutation">("calls:add"), { b: "by http" });
    return Response.json(await ctx.runQuery(makeFunctionReference<"query">("calls:hiddenCount"), {}));
  }),
});

http.route({
  path: "/who",
  method: "GET",
  handler: httpAction(async (ctx) =>
    Response.json([
      (await ctx.auth.getUserIdentity())?.subject ?? null,
      await ctx.runQuery(makeFunctionReference<"query">("identity:innerQuery"), {}),
    ]),
  ),
});

export default http;
