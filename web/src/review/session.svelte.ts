// The state of the review: the question on screen, the label set that is being built, and what the
// reviewer did. The page shows it; keys and buttons call its methods.

import { getContext, setContext } from 'svelte';

import type { Facts } from '../lib/facts';
import { count } from '../lib/format';
import { linkTo } from '../lib/navigation.svelte';
import { indexFacts, type Report } from '../lib/report';
import { Answers, type ReviewAnswer } from './answers.svelte';
import { answersTo, candidatesFor, type Candidate } from './instance';
import { addLabel, mostSpecific, raiseLabel } from './labelSet';
import { nextQuestion, orderQuestions, type Order, type Question } from './queue';
import { indexLabels, type LabelIndex } from './search';
import { reachedByGain } from './sample';
import { readSettings, writeSettings } from './settings';
import { ServerSync } from './sync.svelte';

const KEY = Symbol('review');

export const provideReview = (review: ReviewSession): ReviewSession => setContext(KEY, review);
export const useReview = (): ReviewSession => getContext<ReviewSession>(KEY);

/** What undo restores: the answers before, withdrawn ones where there were none. */
interface Step {
  position: number;
  before: ReviewAnswer[];
}

export class ReviewSession {
  report = $state.raw() as Report;
  answers: Answers;
  server: ServerSync | null;
  open = $state(false);
  order = $state<Order>('gain');
  reviewer = $state('reviewer');
  question = $state.raw<Question | null>(null);
  /** The most specific labels of the set that is being built. */
  labels = $state.raw<number[]>([]);
  candidates = $state.raw<Candidate[]>([]);
  /** What happened last, read out by screen readers. */
  message = $state('');
  readonly gold = $derived(new Set(this.report.instances.gold ?? []));
  readonly #population = $derived({
    gain: this.report.instances.gain,
    gold: this.gold,
    random: this.report.review?.random ?? [],
  });
  readonly #byGain = $derived(orderQuestions('gain', this.#population));
  readonly questions = $derived(orderQuestions(this.order, this.#population));
  readonly positionOf = $derived(
    new Map(this.report.instances.id.map((id, position) => [id, position])),
  );
  /** From this expected gain on, a review is worth its time. */
  readonly minGain = $derived(this.report.findings.min_gain);
  readonly #left = $derived.by(() => {
    const isOpen = this.#openTest();
    const open = this.questions.filter(({ position }) => isOpen(position));
    const gain = this.report.instances.gain;
    return {
      all: open.length,
      worthwhile: open.filter(({ position }) => (gain[position] ?? 0) >= this.minGain).length,
    };
  });
  #index: { ids: string[]; index: LabelIndex } | null = null;
  #later = new Set<number>();
  #steps: Step[] = [];
  #visited: Question[] = [];

  constructor(report: Report) {
    this.report = report;
    this.answers = new Answers(report.run);
    this.server = report.review?.server
      ? new ServerSync(this.answers, (facts) => this.#replaceFacts(facts))
      : null;
    Object.assign(this, readSettings(report.run));
  }

  get settled(): number {
    return this.answers.settled.size;
  }

  /** Instances in the chosen order that nobody has settled. */
  get left(): number {
    return this.#left.all;
  }

  /** Those of them with an expected gain that is worth a review. */
  get worthwhile(): number {
    return this.#left.worthwhile;
  }

  /** Positions of the instances on which reviewers differ. */
  get differing(): number[] {
    return [...this.answers.differing].flatMap((id) => this.positionOf.get(id) ?? []);
  }

  /** The labels for the type-ahead, prepared once. */
  get labelIndex(): LabelIndex {
    const { id, name } = this.report.taxonomy;
    if (this.#index?.ids !== id) this.#index = { ids: id, index: indexLabels(id, name) };
    return this.#index.index;
  }

  get instance(): string {
    return this.question ? this.report.instances.id[this.question.position] : '';
  }

  get canUndo(): boolean {
    return this.answers.settled.size + this.answers.differing.size > 0;
  }

  /** Start with an instance, or with the next one if there is none with this id. */
  start(instance = ''): void {
    const position = this.positionOf.get(instance);
    this.open = true;
    if (!this.message) this.message = 'Accept the labels, or correct them first.';
    if (position !== undefined) {
      if (position !== this.question?.position) this.visit(position);
      return;
    }
    this.next();
    if (instance) this.message = `This report has no instance ${instance}.`;
  }

  visit(position: number): void {
    const drawn = this.questions.find((each) => each.position === position)?.drawn ?? 'gain';
    this.#show({ position, drawn });
  }

  next(): void {
    this.#show(nextQuestion(this.questions, this.#openTest(), this.differing, this.#later));
  }

  skip(): void {
    if (!this.question) return;
    const { instance } = this;
    this.#later.delete(this.question.position); // The one skipped last comes last.
    this.#later.add(this.question.position);
    this.next();
    this.message = `${instance} skipped.`;
  }

  previous(): void {
    if (this.#visited.length < 2) {
      this.message = 'There is no previous instance.';
      return;
    }
    this.#visited.pop();
    this.#show(this.#visited.pop()!);
  }

  changeOrder(order: Order): void {
    this.order = order;
    this.#saveSettings();
    this.#later.clear();
    if (this.open) this.next();
  }

  rename(name: string): void {
    this.reviewer = name.trim() || 'reviewer';
    this.#saveSettings();
  }

  /** Settle the instance with the labels on screen, and go on. */
  accept(): void {
    this.#settle(this.labels);
  }

  settleAsNone(): void {
    this.#settle([]);
  }

  /** Settle the instance and withdraw what other reviewers answered differently. */
  decideForAll(): void {
    const mine = JSON.stringify(this.#idsOf(this.labels).sort());
    const differing = this.answers
      .to(this.instance)
      .filter(({ reviewer }) => reviewer !== this.reviewer)
      .filter(({ labels }) => JSON.stringify([...labels!].sort()) !== mine);
    this.#settle(this.labels, differing);
  }

  undo(): void {
    const step = this.#steps.pop() ?? this.#stepOfNewest();
    if (!step) {
      this.message = 'There is nothing to undo.';
      return;
    }
    const { position, before } = step;
    this.answers.record(before.map((answer) => ({ ...answer, time: this.answers.now() })));
    this.#later.delete(position);
    this.visit(position);
    this.message = `Undone: ${this.instance} is open again. ${this.#progress()}`;
  }

  add(label: number): void {
    const { labels, outcome, replaced } = addLabel(
      this.report.taxonomy.parents,
      this.labels,
      label,
    );
    const name = this.report.name(label);
    this.labels = labels;
    if (outcome === 'implied') {
      this.message = `${name} was not added: a more specific label implies it already.`;
    } else if (outcome === 'present') this.message = `${name} is in the set already.`;
    else {
      const instead = replaced.map(this.report.name).join(', ');
      this.message = `${name} added${instead ? `, in place of ${instead}` : ''}.`;
    }
  }

  remove(label: number | undefined = this.labels.at(-1)): void {
    if (label === undefined || !this.labels.includes(label)) return;
    this.labels = this.labels.filter((each) => each !== label);
    this.message = `${this.report.name(label)} removed.`;
  }

  /** Replace a label by its parent. */
  raise(label: number | undefined = this.labels.at(-1)): void {
    if (label === undefined) return;
    const labels = raiseLabel(this.report.taxonomy.parents, this.labels, label);
    const name = this.report.name(label);
    if (labels) {
      const parents = this.report.taxonomy.parents[label].map(this.report.name).join(' and ');
      this.labels = labels;
      this.message = `${name} replaced by ${parents}.`;
    } else this.message = `${name} is at the top of the taxonomy.`;
  }

  toggle(label: number): void {
    if (this.labels.includes(label)) this.remove(label);
    else this.add(label);
  }

  /** Take over the answer of a reviewer. */
  use(answer: ReviewAnswer): void {
    this.labels = this.#positionsOf(answer.labels ?? []);
    this.message = `Labels of ${answer.reviewer} taken over.`;
  }

  #settle(labels: number[], withdrawn: ReviewAnswer[] = []): void {
    if (!this.question) return;
    const { instance, reviewer, answers } = this;
    const { position, drawn } = this.question;
    const earlier = answers.by(reviewer, instance);
    const before = [earlier ?? { instance, labels: null, reviewer, drawn, time: '' }, ...withdrawn];
    answers.record([
      {
        instance,
        labels: this.#idsOf(labels),
        reviewer,
        drawn: earlier?.drawn ?? drawn,
        time: answers.now(),
      },
      ...withdrawn.map((answer) => ({ ...answer, labels: null, time: answers.now() })),
    ]);
    answers.record(this.#passedByGain());
    this.#steps.push({ position, before });
    const differs = answers.statusOf(instance) === 'differ';
    if (differs) this.#later.add(position);
    else this.#later.delete(position);
    const names = labels.map(this.report.name).join(', ') || 'none of these';
    this.next();
    this.message = `${instance} ${differs ? 'answered, but reviewers differ' : 'settled'}: ${names}. ${this.#progress()}`;
  }

  /** Answers to instances that were drawn at random, but that the order by gain reached since. */
  #passedByGain(): ReviewAnswer[] {
    const mine = (position: number): ReviewAnswer | undefined =>
      this.answers.by(this.reviewer, this.report.instances.id[position]);
    return reachedByGain(this.#byGain, (position) => mine(position)?.drawn).flatMap((position) => {
      const answer = mine(position)!;
      return answer.drawn === 'random'
        ? [{ ...answer, drawn: 'gain' as const, time: this.answers.now() }]
        : [];
    });
  }

  #show(question: Question | null): void {
    this.question = question;
    if (this.open) history.replaceState(history.state, '', linkTo('review', this.instance));
    if (!question) return;
    const { report, answers } = this;
    const suggested = report.instances.labels[question.position];
    const mine = answers.by(this.reviewer, this.instance)?.labels;
    this.#visited.push(question);
    this.labels = mine ? this.#positionsOf(mine) : [...suggested];
    this.candidates = candidatesFor(
      answersTo(report, question.position),
      suggested,
      report.taxonomy.parents,
    );
  }

  /** The report of a new result: the order follows it, the instance on screen stays. */
  #replaceFacts(facts: Facts): void {
    const { instance } = this;
    this.report = indexFacts(facts);
    this.#later.clear();
    this.#steps = [];
    this.#visited = [];
    const position = this.positionOf.get(instance);
    if (!this.open) this.question = null;
    else if (position === undefined || this.answers.statusOf(instance) === 'settled') this.next();
    else this.visit(position);
    this.message = 'The report shows the new result.';
  }

  /** Whether nobody has answered an instance; made once for a pass over all of them. */
  #openTest(): (position: number) => boolean {
    const { settled, differing } = this.answers;
    const { id } = this.report.instances;
    return (position) => !settled.has(id[position]) && !differing.has(id[position]);
  }

  #progress = (): string => `${count(this.settled)} reviewed, ${count(this.left)} left.`;

  #newestAnswer(): ReviewAnswer | undefined {
    let newest: ReviewAnswer | undefined;
    for (const answer of this.answers.all) {
      if (answer.reviewer === this.reviewer && answer.time > (newest?.time ?? '')) newest = answer;
    }
    return newest;
  }

  /** After a reload, undo withdraws the newest answer. */
  #stepOfNewest(): Step | undefined {
    const answer = this.#newestAnswer();
    const position = answer && this.positionOf.get(answer.instance);
    if (position === undefined) return undefined;
    return { position, before: [{ ...answer!, labels: null }] };
  }

  #idsOf = (labels: number[]): string[] => labels.map((label) => this.report.taxonomy.id[label]);

  #positionsOf(ids: string[]): number[] {
    const labels = ids.flatMap((id) => this.report.labelById.get(id) ?? []);
    return mostSpecific(this.report.taxonomy.parents, labels);
  }

  #saveSettings(): void {
    writeSettings(this.report.run, { reviewer: this.reviewer, order: this.order });
  }
}
