/// <reference types="vite/client" />
import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { ValidatorJson } from "../../lib/local-convex/values/validator.ts";
import type { Kind } from "./world.ts";

/** The builders of convex/functions.ts, by whom they let in. */
export type Door = "account" | "operator" | "server" | "signedIn";

export interface PublicFunction {
  /** As clients call it: `gate:admit`. */
  readonly path: string;
  readonly kind: Kind;
  readonly door: Door;
  readonly args: ValidatorJson & { readonly type: "object" };
}

export interface FunctionList {
  readonly publicOnes: readonly PublicFunction[];
  readonly internalOnes: readonly { readonly path: string; readonly kind: Kind }[];
}

interface Registered {
  readonly isPublic?: true;
  readonly isInternal?: true;
  readonly isQuery?: true;
  readonly isMutation?: true;
  exportArgs(): string;
}

const modules = import.meta.glob<Record<string, unknown>>("../../convex/*.ts");
const MADE_BY = /^export const (\w+) = (account|operator|server|signedIn)(?:Query|Mutation|Action)\(/gm;

/** Every function of `convex/`, read from what is deployed. @throws Error for a public one of an unknown builder */
export async function listFunctions(): Promise<FunctionList> {
  const publicOnes: PublicFunction[] = [];
  const internalOnes: { path: string; kind: Kind }[] = [];
  for (const [file, load] of Object.entries(modules)) {
    const source = readFileSync(join(import.meta.dirname, file), "utf8");
    const doors = new Map([...source.matchAll(MADE_BY)].map(([, name, door]) => [name!, door as Door]));
    const moduleName = file.slice("../../convex/".length, -".ts".length);
    for (const [name, value] of Object.entries(await load())) {
      const made = value as Registered | null;
      if (made?.isPublic !== true && made?.isInternal !== true) continue;
      const path = `${moduleName}:${name}`;
      const kind: Kind = made.isQuery ? "query" : made.isMutation ? "mutation" : "action";
      if (made.isInternal === true) {
        internalOnes.push({ path, kind });
        continue;
      }
      const door = doors.get(name);
      if (door === undefined) throw new Error(`${path} is public, and no builder of functions.ts made it`);
      publicOnes.push({ path, kind, door, args: JSON.parse(made.exportArgs()) as PublicFunction["args"] });
    }
  }
  return { publicOnes, internalOnes };
}

/** A value for an argument of that name; undefined when there is none. */
export type Samples = (name: string, isOptional: boolean) => unknown;

/**
 * Arguments that the function's validator takes. Texts come from `samples`, by the name of the field: a text that it
 * does not know is an error, so that a new function says what it is called with. What is optional is left out, unless
 * `samples` has a value for it. Who calls (`serverSecret`, `keyHash`) is no part of them.
 */
export function argumentsFor({ path, args }: PublicFunction, samples: Samples): Record<string, unknown> {
  return valueFor(args, path, samples) as Record<string, unknown>;
}

function valueFor(type: ValidatorJson, name: string, samples: Samples): unknown {
  switch (type.type) {
    case "object": {
      const fields = Object.entries(type.value).flatMap(([field, { fieldType, optional }]) => {
        if (field === "serverSecret" || field === "keyHash") return [];
        if (optional && samples(field, true) === undefined) return [];
        return [[field, valueFor(fieldType, field, samples)]];
      });
      return Object.fromEntries(fields) as unknown;
    }
    case "array":
      return [valueFor(type.value, name, samples)];
    case "union": {
      const text = type.value.find((member) => member.type === "string");
      const sample = text === undefined ? undefined : samples(name, false);
      if (sample !== undefined) return sample;
      return valueFor(type.value.find((member) => member.type === "null") ?? type.value[0]!, name, samples);
    }
    case "literal":
      return type.value;
    case "null":
      return null;
    case "boolean":
      return false;
    case "number": {
      const sample = samples(name, false);
      return typeof sample === "number" ? sample : 1;
    }
    case "string":
    case "id": {
      const sample = samples(name, false);
      if (sample !== undefined) return sample;
      throw new Error(`tests/attack knows no value for the argument \`${name}\`: add it to the samples`);
    }
    default:
      throw new Error(`tests/attack builds no value of type ${type.type} for \`${name}\``);
  }
}
