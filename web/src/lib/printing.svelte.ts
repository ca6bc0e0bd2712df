// Whether the page is being printed: paper has no scrolling and no buttons, so sections show more.

import { flushSync } from 'svelte';

export const printing = $state({ now: false });

addEventListener('beforeprint', () => flushSync(() => (printing.now = true)));
addEventListener('afterprint', () => (printing.now = false));
