import { emulatorControl, type FaultsOutcome } from "../../../../lib/server/emulator-control.ts";
import { readSession } from "../../../session.ts";

// What it answers is of one moment.
export const dynamic = "force-dynamic";

const NEVER_KEPT = { "cache-control": "private, no-store" };

/** The fault switches of the emulator: for operators, from pages of this site, and only while an emulator runs. */

export async function GET(request: Request): Promise<Response> {
  return await answer(request, (control) => control.list());
}

export async function POST(request: Request): Promise<Response> {
  return await answer(request, async (control) => {
    const body = (await request.json().catch(() => null)) as { offer?: unknown; span?: unknown } | null;
    return await control.add(body?.offer, body?.span);
  });
}

export async function DELETE(request: Request): Promise<Response> {
  return await answer(request, (control) => control.remove(new URL(request.url).searchParams.get("id")));
}

type Control = NonNullable<ReturnType<typeof emulatorControl>>;

async function answer(
  request: Request,
  act: (control: Control) => Promise<FaultsOutcome>,
): Promise<Response> {
  // proxy.ts has answered 403 to others already; this is the second door.
  const session = await readSession();
  if (session === null || !session.isOperator || !isOwnPage(request.headers)) return refuse(403, "forbidden");
  const control = emulatorControl(process.env);
  if (control === null) return refuse(404, "no_emulator");
  const outcome = await act(control);
  if (outcome.kind === "unreachable") return refuse(503, "unreachable");
  if (outcome.kind === "refused") return refuse(400, "refused");
  const { faults, struck } = outcome;
  return Response.json({ faults, struck }, { headers: NEVER_KEPT });
}

/** Nothing that another site can start passes. A browser sends one of the two with each of these requests. */
function isOwnPage(headers: Headers): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  const { KINDE_SITE_URL: own = "" } = process.env;
  return own !== "" && headers.get("origin") === new URL(own).origin;
}

function refuse(status: number, code: string): Response {
  return Response.json({ code }, { status, headers: NEVER_KEPT });
}
