/** Tell which section is being read: the one that crosses a line near the top of the window. */
export function watch(tell: (id: string) => void): () => void {
  const observer = new IntersectionObserver(
    (entries) => entries.forEach((entry) => entry.isIntersecting && tell(entry.target.id)),
    { rootMargin: '-20% 0px -80% 0px' },
  );
  document.querySelectorAll('main > section').forEach((section) => observer.observe(section));
  return () => observer.disconnect();
}
