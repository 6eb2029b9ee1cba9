import { headers } from "next/headers";
import { originOf } from "../../lib/server/site.ts";

/** Where the reader reached this page, so that the commands on it run as they stand: "https://usage.example.com". */
export async function siteOrigin(): Promise<string> {
  return originOf(await headers(), process.env["KINDE_SITE_URL"] ?? "http://localhost:3000");
}
