import { AccountsPanel } from "./accounts-panel.tsx";
import { HealthPanel } from "./health-panel.tsx";

export default function OperationsPage() {
  return (
    <>
      <h1 className="text-2xl font-semibold tracking-tight">Operations</h1>
      <HealthPanel />
      <AccountsPanel />
    </>
  );
}
