// Where the reader is, as the address says it: #sources, or #conflict=photo-073, so that a place
// can be sent to a colleague and the browser's "back" works.

export type Kind = 'conflict' | 'label' | 'source' | 'instance';

const HOME: Record<Kind, string> = {
  conflict: 'conflicts',
  label: 'hierarchy',
  source: 'sources',
  instance: 'instances',
};

interface Place {
  section: string;
  kind: Kind | null;
  value: string;
}

function read(hash: string): Place {
  const [key, ...rest] = hash.slice(1).split('=');
  if (rest.length > 0 && key in HOME) {
    const kind = key as Kind;
    return { section: HOME[kind], kind, value: decoded(rest.join('=')) };
  }
  return { section: decoded(key), kind: null, value: '' };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // Half an escape, cut off in a message: taken as it stands.
  }
}

export const place: Place = $state(read(location.hash));

/** The address of one thing. */
export const link = (kind: Kind, id: string): string => `#${kind}=${encodeURIComponent(id)}`;

export function go(hash: string): void {
  if (location.hash === hash) follow();
  else location.hash = hash;
}

function follow(): void {
  Object.assign(place, read(location.hash));
  bring(place.section);
}

/** Bring a section, and in it what the address names, before the reader. */
function bring(section: string): void {
  // After the section has shown what was asked for.
  requestAnimationFrame(() => {
    const home = document.getElementById(section);
    const there = place.kind ? home?.querySelector<HTMLElement>('[data-here]') : home;
    (there ?? home)?.scrollIntoView({ block: 'start' });
    if (place.kind) there?.focus({ preventScroll: true });
  });
}

export function keepPlace(): () => void {
  addEventListener('hashchange', follow);
  if (location.hash) bring(place.section);
  return () => removeEventListener('hashchange', follow);
}
