import { useEffect, useRef } from "react";

/** Call `act` with `value` once it has not changed for `milliseconds`; not with the first value. */
export function useDebounced<T>(value: T, milliseconds: number, act: (value: T) => void): void {
  const latest = useRef(act);
  useEffect(() => {
    latest.current = act;
  });
  const first = useRef(true);
  useEffect(() => {
    if (first.current) {
      first.current = false;
      return;
    }
    const timer = setTimeout(() => latest.current(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
}
