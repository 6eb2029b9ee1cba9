/** What a redirect needs to know of a link. A code that was deleted stays known, as a link that is not active. */
export interface ResolvedLink {
  readonly linkId: string;
  readonly accountId: string;
  /** The target, sent byte for byte as it is stored. */
  readonly location: string;
  /** False once it was disabled or deleted. */
  readonly isActive: boolean;
  /** Its click cap is used up: `overCapLocation` is the target then, or there is none. */
  readonly isOverCap: boolean;
  readonly overCapLocation: string | null;
}

/** Reads a link by its code from Convex. Null: nobody ever had this code. Throws whatever keeps it from answering. */
export type ReadLink = (code: string) => Promise<ResolvedLink | null>;
