import { JobsPanel } from "./jobs-panel.tsx";
import { KeysPanel } from "./keys-panel.tsx";
import { StartJob } from "./start-job.tsx";
import { UsagePanel } from "./usage-panel.tsx";

export default function AccountPage() {
  return (
    <>
      <h1 className="text-2xl font-semibold tracking-tight">Your account</h1>
      <UsagePanel />
      <StartJob />
      <JobsPanel />
      <KeysPanel />
    </>
  );
}
