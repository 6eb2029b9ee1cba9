import { healthResponse } from "../../../lib/server/health-response.ts";

// A health answer that was kept would say nothing about now.
export const dynamic = "force-dynamic";

export const GET = healthResponse;
