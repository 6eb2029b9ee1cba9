/** Loads bundles and finds what they export: functions, HTTP routes, schema, crons. */
import { createRequire, SourceMap } from "node:module";
import { compileFunction } from "node:vm";
import type { Bundle } from "./bundle.ts";
import type { UdfType } from "./invocation.ts";
import { compileValidator, type ValidatorJson, type ValueCheck } from "./values/validator.ts";
import type { CronSchedule } from "./cron-schedule.ts";
import type { JsonObject } from "./values/json.ts";

/** The function object made by `query`, `mutation` or `action` (facts §1.5). */
interface RegisteredFunction {
  isQuery?: true;
  isMutation?: true;
  isAction?: true;
  isPublic?: true;
  isInternal?: true;
  invokeQuery(args: string): Promise<string>;
  invokeMutation(args: string): Promise<string>;
  invokeAction(requestId: string, args: string): Promise<string>;
  exportArgs(): string;
  exportReturns(): string;
}

export interface FunctionRecord {
  /** Canonical path: `dir/file.js:export`. */
  readonly path: string;
  readonly kind: UdfType;
  readonly isPublic: boolean;
  readonly checkArgs: ValueCheck;
  /** Null when the function declares no return type. */
  readonly checkReturns: ValueCheck | null;
  /** Runs it: a JSON array of arguments in, a JSON text out. */
  invoke(args: string, requestId: string): Promise<string>;
}

export interface CronSpec {
  name: string;
  functionPath: string;
  args: JsonObject;
  schedule: CronSchedule;
}

export interface SchemaExport {
  tables: {
    tableName: string;
    indexes: { indexDescriptor: string; fields: string[] }[];
    searchIndexes: unknown[];
    vectorIndexes: unknown[];
    documentType: ValidatorJson | null;
  }[];
  schemaValidation: boolean;
}

/** The default export of `http` (facts §1.5). */
export interface HttpRoutes {
  readonly isRouter: true;
  lookup(
    path: string,
    method: string,
  ): readonly [{ invokeHttpAction(request: Request): Promise<Response> }, string, string] | null;
}

export interface LoadedModules {
  functions: Map<string, FunctionRecord>;
  crons: CronSpec[];
  schema: SchemaExport | null;
  /** Null without an `http` module. */
  http: HttpRoutes | null;
  /** Rewrites positions of the bundle in a stack to those of the sources. */
  mapStack(stack: string): string;
}

const BUNDLE_FILE = "convex-functions.js";

export function loadModules(
  bundles: Bundle[],
  globals: Record<string, unknown>,
  functionsDir: string,
): LoadedModules {
  const functions = new Map<string, FunctionRecord>();
  const loaded: LoadedModules = {
    functions,
    crons: [],
    schema: null,
    http: null,
    mapStack: mapStackOf(bundles),
  };
  for (const bundle of bundles) {
    for (const [path, exports] of Object.entries(evaluateBundle(bundle, globals, functionsDir))) {
      if (path === "schema.js") loaded.schema = readSchema(exports);
      else if (path === "crons.js") loaded.crons = readCrons(exports);
      else {
        if (path === "http.js") loaded.http = readHttp(exports);
        for (const [name, value] of Object.entries(exports)) addFunction(functions, path, name, value);
      }
    }
  }
  for (const { name, functionPath } of loaded.crons) {
    const kind = functions.get(functionPath)?.kind;
    if (kind === undefined || kind === "query")
      throw new Error(`Cron job "${name}" calls ${functionPath}, which is no mutation or action.`);
  }
  return loaded;
}

/** `dir/file`, `dir/file:export` and `dir/file.js:export` in one form. */
export function canonicalPath(path: string): string {
  const colon = path.indexOf(":");
  const file = colon === -1 ? path : path.slice(0, colon);
  const name = colon === -1 ? "default" : path.slice(colon + 1);
  return `${file.endsWith(".js") ? file : `${file}.js`}:${name}`;
}

/** The short form used in messages: `file:export`, the default export as `file:default`. */
export function displayPath(canonical: string): string {
  return canonical.replace(".js:", ":");
}

/** Runs a bundle; what its modules export, by module path. */
export function evaluateBundle(
  bundle: Bundle,
  globals: Record<string, unknown>,
  functionsDir: string,
): Record<string, Record<string, unknown>> {
  const loaded = { exports: {} as Record<string, Record<string, unknown>> };
  const scope: Record<string, unknown> =
    bundle.runtime === "node"
      ? {
          Convex: globals["Convex"],
          Date: globals["Date"],
          console: globals["console"],
          require: createRequire(`${functionsDir}/package.json`),
        }
      : { ...globals, require: refuseRequire };
  compiled(bundle, [...Object.keys(scope), "module", "exports"])(
    ...Object.values(scope),
    loaded,
    loaded.exports,
  );
  return loaded.exports;
}

type Compiled = (...values: unknown[]) => void;

/** Engines of one process that run one bundle share its code, which stays compiled and optimised between them. */
const compiledBundles = new WeakMap<Bundle, { readonly run: Compiled; readonly names: string }>();

function compiled(bundle: Bundle, names: readonly string[]): Compiled {
  const known = compiledBundles.get(bundle);
  if (known?.names === names.join()) return known.run;
  const filename = `${bundle.runtime}-${BUNDLE_FILE}`;
  const run = compileFunction(bundle.code, names, { filename }) as Compiled;
  compiledBundles.set(bundle, { run, names: names.join() });
  return run;
}

function refuseRequire(name: string): never {
  throw new Error(
    `Cannot load "${name}" in the default runtime; start the module with "use node" to use Node.`,
  );
}

function addFunction(
  functions: Map<string, FunctionRecord>,
  path: string,
  name: string,
  value: unknown,
): void {
  if (value === null || (typeof value !== "function" && typeof value !== "object")) return;
  const fn = value as RegisteredFunction;
  const kinds = [fn.isQuery && "query", fn.isMutation && "mutation", fn.isAction && "action"].filter(Boolean);
  if (kinds.length !== 1 || (fn.isPublic === true) === (fn.isInternal === true)) return;
  const kind = kinds[0] as UdfType;
  const returns = JSON.parse(fn.exportReturns()) as ValidatorJson | null;
  const canonical = `${path}:${name}`;
  functions.set(canonical, {
    path: canonical,
    kind,
    isPublic: fn.isPublic === true,
    checkArgs: compileValidator(JSON.parse(fn.exportArgs()) as ValidatorJson),
    checkReturns: returns === null ? null : compileValidator(returns),
    invoke: (args, requestId) =>
      kind === "query"
        ? fn.invokeQuery(args)
        : kind === "mutation"
          ? fn.invokeMutation(args)
          : fn.invokeAction(requestId, args),
  });
}

function readSchema(exports: Record<string, unknown>): SchemaExport {
  const schema = exports["default"] as { export(): string } | undefined;
  if (typeof schema?.export !== "function")
    throw new Error("schema must have a default export made by defineSchema().");
  const parsed = JSON.parse(schema.export()) as SchemaExport;
  for (const table of parsed.tables) {
    if (table.searchIndexes.length > 0 || table.vectorIndexes.length > 0) {
      throw new Error(
        `Table ${table.tableName}: search and vector indexes are not supported by local-convex.`,
      );
    }
  }
  return parsed;
}

function readHttp(exports: Record<string, unknown>): HttpRoutes {
  const router = exports["default"] as Partial<HttpRoutes> | undefined;
  if (router?.isRouter !== true || typeof router.lookup !== "function")
    throw new Error("http must have a default export made by httpRouter().");
  return router as HttpRoutes;
}

function readCrons(exports: Record<string, unknown>): CronSpec[] {
  const crons = exports["default"] as { export(): string } | undefined;
  if (typeof crons?.export !== "function")
    throw new Error("crons must have a default export made by cronJobs().");
  const parsed = JSON.parse(crons.export()) as Record<
    string,
    { name: string; args: JsonObject[]; schedule: CronSchedule }
  >;
  return Object.entries(parsed).map(([name, spec]) => ({
    name,
    functionPath: canonicalPath(spec.name),
    args: spec.args[0] ?? {},
    schedule: spec.schedule,
  }));
}

/** Rewrites positions of these bundles in a stack to those of the sources. */
export function mapStackOf(bundles: Bundle[]): (stack: string) => string {
  const maps = new Map<string, SourceMap>();
  return (stack) =>
    stack.replaceAll(
      /(default|node)-convex-functions\.js:(\d+):(\d+)/g,
      (whole, runtime: string, line, column) => {
        let map = maps.get(runtime);
        if (map === undefined) {
          const text = bundles.find((bundle) => bundle.runtime === runtime)!.sourceMap;
          maps.set(
            runtime,
            (map = new SourceMap(JSON.parse(text) as ConstructorParameters<typeof SourceMap>[0])),
          );
        }
        const entry = map.findEntry(Number(line) - 1, Number(column) - 1);
        if (!("originalSource" in entry)) return whole;
        return `../convex/${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
      },
    );
}
