import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { ConfigError } from "./config.ts";

/** The keys an admin chooses in Kinde. */
const key = z.string().regex(/^[A-Za-z0-9_-]{1,100}$/, "must be letters, digits, _ and -");

const feature = z.strictObject({
  key,
  name: z.string().min(1),
  /** The most units of a cycle; null means no maximum. */
  limit: z.int().min(0).nullable(),
  /** Usage is reported to a meter. Features that are only on or off have none. */
  metered: z.boolean().default(true),
  /** Price of one unit, in cents. */
  unitAmountCents: z.number().min(0).default(0),
});

const plan = z.strictObject({
  key,
  name: z.string().min(1),
  monthlyPriceCents: z.int().min(0),
  features: z.array(feature).refine(hasUniqueKeys, "two features have the same key"),
});

const catalogue = z
  .strictObject({
    /** The plan of a new user who asked for no other. */
    signUpPlan: key,
    plans: z.array(plan).min(1).refine(hasUniqueKeys, "two plans have the same key"),
  })
  .refine(({ signUpPlan, plans }) => plans.some((plan) => plan.key === signUpPlan), {
    error: "names no plan of the catalogue",
    path: ["signUpPlan"],
  });

export type Catalogue = z.output<typeof catalogue>;
export type Plan = Catalogue["plans"][number];
export type Feature = Plan["features"][number];

export const DEFAULT_CATALOGUE_FILE = join(import.meta.dirname, "catalogue.json");

/** Reads the plans on offer. Throws ConfigError, one line with file and field, when the file is no catalogue. */
export function readCatalogue(file: string): Catalogue {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, "utf8"));
  } catch (cause) {
    throw new ConfigError(`The catalogue ${file} cannot be read as JSON.`, { cause });
  }
  const parsed = catalogue.safeParse(content);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  throw new ConfigError(`The catalogue ${file} is wrong at ${issue.path.join(".")}: ${issue.message}.`);
}

export function findPlan(catalogue: Catalogue, planKey: string): Plan | null {
  return catalogue.plans.find((plan) => plan.key === planKey) ?? null;
}

function hasUniqueKeys(items: readonly { key: string }[]): boolean {
  return new Set(items.map((item) => item.key)).size === items.length;
}
