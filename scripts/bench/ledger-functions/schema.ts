/** The real schema: what is filled here is read by the real functions afterwards. */
export { default } from "../../../convex/schema";
