import type { MetadataRoute } from "next";

/** Search engines have the site's pages. The areas behind the sign-in and the API are nothing to list. */
export default function robots(): MetadataRoute.Robots {
  return { rules: { userAgent: "*", allow: "/", disallow: ["/app", "/ops", "/api/"] } };
}
