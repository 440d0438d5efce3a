/** The product's mark; its name stands beside it. */
export function Logo({ size }: { size: number }) {
  return <img src={`${import.meta.env.BASE_URL}favicon.svg`} width={size} height={size} alt="" />;
}
