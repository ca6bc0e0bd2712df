// Every view has an address: #sources, or #conflict=photo-073. It can be sent to a colleague, and
// the browser's back button works.

export type Kind = 'conflict' | 'label' | 'source' | 'instance' | 'review';

/** The id of the section in which each kind of target is shown. */
const SECTION_OF: Record<Kind, string> = {
  conflict: 'conflicts',
  label: 'hierarchy',
  source: 'sources',
  instance: 'instances',
  review: 'review',
};

interface Target {
  section: string;
  kind: Kind | null;
  value: string;
}

function parse(hash: string): Target {
  const [key, ...rest] = hash.slice(1).split('=');
  if (rest.length > 0 && key in SECTION_OF) {
    const kind = key as Kind;
    return { section: SECTION_OF[kind], kind, value: decode(rest.join('=')) };
  }
  return { section: decode(key), kind: null, value: '' };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // An escape sequence that a mail program cut in half: use the raw text.
  }
}

/** What the address names. */
export const target: Target = $state(parse(location.hash));

export const linkTo = (kind: Kind, id: string): string => `#${kind}=${encodeURIComponent(id)}`;

export function navigateTo(hash: string): void {
  if (location.hash === hash) updateTarget();
  else location.hash = hash;
}

function updateTarget(): void {
  Object.assign(target, parse(location.hash));
  scrollToTarget();
}

function scrollToTarget(): void {
  // Wait one frame, so that the section has rendered the target.
  requestAnimationFrame(() => {
    const section = document.getElementById(target.section);
    const element = target.kind ? section?.querySelector<HTMLElement>('[data-target]') : section;
    (element ?? section)?.scrollIntoView({ block: 'start' });
    if (target.kind) element?.focus({ preventScroll: true });
  });
}

/** Follow the address until the returned function is called. */
export function followAddress(): () => void {
  addEventListener('hashchange', updateTarget);
  if (location.hash) scrollToTarget();
  return () => removeEventListener('hashchange', updateTarget);
}
