import type { Route } from "./context.ts";

export type RouteMatch =
  | { kind: "found"; route: Route; params: Record<string, string> }
  | { kind: "wrong_method"; allow: string }
  | { kind: "not_found" };

/** Finds the route of a path; `{name}` in a route stands for one segment. HEAD is answered as GET. */
export function matchRoute(routes: readonly Route[], method: string, path: string): RouteMatch {
  const wanted = method === "HEAD" ? "GET" : method;
  const allowed: string[] = [];
  for (const route of routes) {
    const params = matchPath(route.path, path);
    if (params === null) continue;
    if (route.method === wanted) return { kind: "found", route, params };
    allowed.push(route.method);
  }
  return allowed.length === 0 ? { kind: "not_found" } : { kind: "wrong_method", allow: allowed.join(", ") };
}

function matchPath(pattern: string, path: string): Record<string, string> | null {
  if (!pattern.includes("{")) return pattern === path ? {} : null;
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const name = /^\{(.+)\}$/.exec(part)?.[1];
    const text = given[index]!;
    if (name === undefined) {
      if (part !== text) return null;
      continue;
    }
    const value = decode(text);
    if (value === null || value === "") return null;
    params[name] = value;
  }
  return params;
}

function decode(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
