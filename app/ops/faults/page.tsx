import type { Metadata } from "next";
import { emulatorControl } from "../../../lib/server/emulator-control.ts";
import { FaultsScreen } from "./faults-screen.tsx";

export const metadata: Metadata = { title: "Faults" };

export default function FaultsPage() {
  return <FaultsScreen hasEmulator={emulatorControl(process.env) !== null} />;
}
