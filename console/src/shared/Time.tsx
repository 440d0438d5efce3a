import { relativeTime } from "./relativeTime";

/** A moment, told from now; the exact one shows on hover. */
export function Time({ at }: { at: string }) {
  const time = new Date(at);
  return (
    <time dateTime={at} title={time.toLocaleString("en")}>
      {relativeTime(time, new Date())}
    </time>
  );
}
