"use client";

import { ScreenHead } from "../../components/panel.tsx";
import { CreditPanel } from "./credit-panel.tsx";
import { ReminderForm } from "./reminder-form.tsx";
import { ReminderList } from "./reminder-list.tsx";

export function RemindersScreen() {
  return (
    <>
      <ScreenHead title="Reminders">
        A message to your later self. It arrives here at its time, once, and as a message on whichever screen
        you are.
      </ScreenHead>
      <CreditPanel />
      <ReminderForm />
      <ReminderList />
    </>
  );
}
