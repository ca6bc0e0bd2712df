import { mount } from 'svelte';

import './page.css';
import App from './App.svelte';
import { unpack } from './lib/facts';
import { prepare } from './lib/report';

const target = document.getElementById('app') as HTMLElement;
try {
  const facts = await unpack(document.getElementById('facts')?.textContent ?? '');
  target.replaceChildren();
  mount(App, { target, props: { report: prepare(facts) } });
} catch (error) {
  target.textContent = `The report cannot be shown: ${(error as Error).message}`;
}
