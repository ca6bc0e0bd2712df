/** Report the id of the section being read: the one that crosses a line near the window's top. */
export function observeVisibleSection(onChange: (id: string) => void): () => void {
  const observer = new IntersectionObserver(
    (entries) => entries.forEach((entry) => entry.isIntersecting && onChange(entry.target.id)),
    { rootMargin: '-20% 0px -80% 0px' },
  );
  document.querySelectorAll('main > section').forEach((section) => observer.observe(section));
  return () => observer.disconnect();
}
