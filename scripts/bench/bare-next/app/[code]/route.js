// What `npm run bench:redirect` measures against: the least that a Next.js route can do to redirect.
export const dynamic = "force-dynamic";

export function GET() {
  const headers = { location: "https://example.com/", "cache-control": "private, no-store" };
  return new Response(null, { status: 302, headers });
}
