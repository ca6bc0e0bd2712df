import { mount } from 'svelte';

import './page.css';
import App from './App.svelte';
import { unpack } from './lib/facts';
import { indexFacts } from './lib/report';

const target = document.getElementById('app') as HTMLElement;
try {
  const facts = await unpack(document.getElementById('facts')?.textContent ?? '');
  target.replaceChildren();
  mount(App, { target, props: { report: indexFacts(facts) } });
} catch (error) {
  target.textContent = `This report cannot be displayed. ${(error as Error).message}`;
}
