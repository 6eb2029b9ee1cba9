"use client";

import { ScreenHead } from "../../components/panel.tsx";
import { AlertsPanel } from "./alerts-panel.tsx";
import { OverduePanel } from "./overdue-panel.tsx";

/** What operators set for everybody, and who is told when something waits for a person. */
export function SettingsScreen() {
  return (
    <>
      <ScreenHead title="Settings">
        What holds for every account. Everything else is a variable of the deployment.
      </ScreenHead>
      <OverduePanel />
      <AlertsPanel />
    </>
  );
}
