// Output for people: a progress line on a terminal and tables of two columns.

const BAR_WIDTH = 30;
const REDRAW_EVERY_MS = 100;

/**
 * A progress bar on stderr, so that it never mixes with results; silent when stderr is no terminal.
 * @param {number} total
 * @param {NodeJS.WriteStream} [stream]
 */
export function progressBar(total, stream = process.stderr) {
  let drawnAtMs = 0;
  return {
    /**
     * @param {number} done
     * @param {string} note
     */
    show(done, note) {
      const nowMs = performance.now();
      if (!stream.isTTY || (done < total && nowMs - drawnAtMs < REDRAW_EVERY_MS)) return;
      drawnAtMs = nowMs;
      stream.write(`\r${barLine(done, total)}  ${note}\u001B[K`);
    },
    /** Removes the bar. */
    clear() {
      if (stream.isTTY) stream.write("\r\u001B[K");
    },
  };
}

/**
 * @param {number} done
 * @param {number} total
 */
export function barLine(done, total) {
  const filled = total === 0 ? BAR_WIDTH : Math.floor((done / total) * BAR_WIDTH);
  return `[${"#".repeat(filled)}${"-".repeat(BAR_WIDTH - filled)}] ${done}/${total}`;
}

/**
 * Rows of a name and a value, the values aligned to the right.
 * @param {readonly (readonly [string, string | number])[]} rows
 */
export function twoColumns(rows) {
  const nameWidth = Math.max(...rows.map(([name]) => name.length));
  const valueWidth = Math.max(...rows.map(([, value]) => String(value).length));
  return rows
    .map(([name, value]) => `  ${name.padEnd(nameWidth)}  ${String(value).padStart(valueWidth)}`)
    .join("\n");
}
