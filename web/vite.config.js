import { createHash } from 'node:crypto';

import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';

// The content security policy allows the page's own script and style, identified by their hashes, and
// nothing else: code that came in with the data cannot run, and no request can be sent.
const policy = {
  name: 'content-security-policy',
  enforce: 'post',
  generateBundle: {
    order: 'post', // after script and style have been inlined
    handler(_, bundle) {
      const page = bundle['index.html'];
      const rules = [
        "default-src 'none'",
        `script-src ${hash(page.source, /<script type="module"[^>]*>(.*?)<\/script>/s)}`,
        `style-src ${hash(page.source, /<style[^>]*>(.*?)<\/style>/s)}`,
        'img-src data:',
        "base-uri 'none'",
        "form-action 'none'",
      ].join('; ');
      const tag = `<meta http-equiv="Content-Security-Policy" content="${rules}" />`;
      page.source = page.source.replace('<!-- policy -->', () => tag);
    },
  },
};

function hash(page, element) {
  const digest = createHash('sha256').update(page.match(element)[1]).digest('base64');
  return `'sha256-${digest}'`;
}

export default defineConfig({
  plugins: [svelte(), viteSingleFile({ removeViteModuleLoader: true }), policy],
  build: { target: 'es2022', modulePreload: false, reportCompressedSize: false },
});
