// Paper has no scrolling and no buttons: sections ask here whether they are being printed.

import { flushSync } from 'svelte';

export const printing = $state({ now: false });

addEventListener('beforeprint', () => flushSync(() => (printing.now = true)));
addEventListener('afterprint', () => (printing.now = false));
