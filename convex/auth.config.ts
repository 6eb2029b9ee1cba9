import type { AuthConfig } from "convex/server";

/** Who may sign in: users of the Kinde tenant (or the emulator), by access tokens for the audience `convex`. */
export default {
  providers: [{ domain: process.env.KINDE_ISSUER_URL!, applicationID: "convex" }],
} satisfies AuthConfig;
