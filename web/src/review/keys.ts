// The keys of the review.

export type Action =
  | 'accept'
  | 'remove'
  | 'search'
  | 'browse'
  | 'raise'
  | 'none'
  | 'skip'
  | 'previous'
  | 'undo'
  | 'keys'
  | { toggle: number };

const ACTIONS = new Map<string, Action>([
  ['Enter', 'accept'],
  ['Backspace', 'remove'],
  ['Delete', 'remove'],
  ['a', 'search'],
  ['/', 'search'],
  ['b', 'browse'],
  ['u', 'raise'],
  ['n', 'none'],
  ['s', 'skip'],
  ['ArrowRight', 'skip'],
  ['ArrowLeft', 'previous'],
  ['z', 'undo'],
  ['?', 'keys'],
]);

/** The keys with what they do, for the list that `?` shows. */
export const KEYS: [keys: string[], meaning: string][] = [
  [['Enter'], 'Accept: settle the instance with these labels and go to the next'],
  [['1', '…', '9'], 'Add or remove a label that sources gave'],
  [['a', '/'], 'Find a label by its name or id'],
  [['b'], 'Browse the children of the last label'],
  [['Backspace'], 'Remove the focused or last label'],
  [['u'], 'Up: replace the focused or last label by its parent'],
  [['n'], 'None of these: settle the instance without labels'],
  [['s', '→'], 'Skip: ask it again later'],
  [['←'], 'Previous instance'],
  [['z', 'Ctrl Z'], 'Undo the last answer'],
  [['?'], 'Show or hide these keys'],
  [['Esc'], 'Leave the review; answers are kept'],
];

/** What a key asks for; null if it belongs to the element that has the focus or to the browser. */
export function actionFor(event: KeyboardEvent): Action | null {
  if (event.defaultPrevented || event.isComposing) return null;
  const element = event.target as HTMLElement;
  if (element.closest('input:not([type=file]), textarea, select')) return null;
  if (event.ctrlKey || event.metaKey || event.altKey) {
    const undo = event.key === 'z' && !event.altKey && !event.shiftKey;
    return undo ? 'undo' : null;
  }
  if (event.key === 'Enter' && element.closest('button, a, summary, input')) return null;
  if (/^[1-9]$/.test(event.key)) return { toggle: Number(event.key) - 1 };
  const action = ACTIONS.get(event.key) ?? null;
  // A key that is held down settles one instance, not twenty.
  return event.repeat && action !== 'remove' ? null : action;
}
