import { anyApi, type FunctionArgs, type FunctionReference, type FunctionReturnType } from "convex/server";
import type { api } from "../../convex/_generated/api";

/**
 * The Convex functions by name, with the types of the functions themselves: a handler that sends what a function
 * does not take, or reads what it does not answer, does not compile.
 */
export const convexApi = anyApi as unknown as typeof api;

export type PublicFunction<Type extends "query" | "mutation" | "action"> = FunctionReference<Type>;

/** What a caller sends: the gateway adds the server's secret and the hash of the caller's key. */
export type Sent<F extends PublicFunction<"query" | "mutation" | "action">> = Omit<
  FunctionArgs<F>,
  "serverSecret" | "keyHash"
>;

export type Answered<F extends PublicFunction<"query" | "mutation" | "action">> = FunctionReturnType<F>;
