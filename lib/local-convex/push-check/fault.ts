/** One reason why a real push would be refused, or would leave something out without a word. */
export interface PushFault {
  /** Path from the folder above the functions, such as `convex/gate.ts`, with the line where it is known. */
  readonly file: string;
  readonly what: string;
  /** The rule behind it, and what helps. */
  readonly why: string;
}
