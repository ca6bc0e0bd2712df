// The tables of the page with all their rows, as they are downloaded. Labels are given by their ids.

import type { Table } from './csvDownload';
import type { Proportion } from './facts';
import type { Report } from './report';
import { STATES } from './states';

const PROPORTIONS = ['accurate', 'vague', 'wrong'] as const;
const ends = (proportion: Proportion | null): (number | null)[] => proportion ?? [null, null, null];

export function sourceTable({ sources, taxonomy }: Report): Table {
  return [
    [
      'source',
      'answers',
      'coverage',
      'mean_depth',
      ...PROPORTIONS.flatMap((name) => [name, `${name}_low`, `${name}_high`]),
      'most_errors_under',
      'independence',
      'nearest_source',
      'dependence',
      'relation',
    ],
    ...sources.map((each) => [
      each.source,
      each.answers,
      each.coverage,
      each.mean_depth,
      ...PROPORTIONS.flatMap((name) => ends(each[name])),
      each.weaknesses.length ? taxonomy.id[each.weaknesses[0].label] : null,
      each.independence,
      each.nearest_source === null ? null : sources[each.nearest_source].source,
      each.dependence,
      each.relation,
    ]),
  ];
}

/** One row per label of a disagreement. */
export const disagreementTable = ({ conflicts, taxonomy }: Report): Table => [
  ['instance', 'gain', 'label', 'score', 'chosen', 'disputed', 'for', 'against', 'vague'],
  ...conflicts.flatMap(({ instance, gain, labels }) =>
    labels.map(({ label, score, chosen, disputed, stances }) => {
      const count = (...names: string[]): number =>
        stances.filter(({ stance }) => names.includes(stance)).length;
      return [
        instance,
        gain,
        taxonomy.id[label],
        score,
        chosen,
        disputed,
        count('direct', 'below'),
        count('against'),
        count('vague'),
      ];
    }),
  ),
];

/** One row per most specific label; an instance without labels has one row with an empty label. */
export const instanceTable = ({ instances, taxonomy, findings }: Report): Table => [
  ['instance', 'label', 'lowest_score', 'gain', 'state'],
  ...instances.id.flatMap((id, position) => {
    const labels: (number | null)[] = instances.labels[position];
    return (labels.length ? labels : [null]).map((label) => [
      id,
      label === null ? null : taxonomy.id[label],
      instances.score[position],
      instances.gain[position],
      STATES[findings.states[position]]?.key,
    ]);
  }),
];

export const confusionTable = ({ confusions, taxonomy: { id } }: Report): Table => [
  ['label', 'confused_with', 'common_ancestor', 'count'],
  ...confusions.map(({ first, second, under, count }) => [
    id[first],
    id[second],
    under === null ? null : id[under],
    count,
  ]),
];

export const taxonomyTable = ({ taxonomy }: Report): Table => [
  ['label', 'name', 'parents', 'votes', 'given', 'chosen', 'disputed'],
  ...taxonomy.id.map((id, label) => [
    id,
    taxonomy.name[label],
    taxonomy.parents[label].map((parent) => taxonomy.id[parent]).join(' | '),
    taxonomy.votes[label],
    taxonomy.supported[label],
    taxonomy.chosen[label],
    taxonomy.disputed[label],
  ]),
];

/** One row per pair of sources. */
export const agreementTable = ({ agreement, sources }: Report): Table => [
  ['source', 'other_source', 'common_instances', 'agreement'],
  ...agreement.sources.flatMap((source, row) =>
    agreement.sources
      .slice(0, row)
      .map((other, column) => [
        sources[source].source,
        sources[other].source,
        agreement.common[row][column],
        agreement.share[row][column],
      ]),
  ),
];

export const findingTable = ({ findings, exclusive }: Report): Table => [
  ['finding', 'count', 'sentence'],
  ['settled', findings.settled.count, findings.settled.sentence],
  ['contested', findings.settled.contested, findings.settled.sentence],
  ['review', findings.review.count, findings.review.sentence],
  ['unreliable sources', findings.sources.unreliable, findings.sources.sentence],
  ['confused labels', findings.confusions.shown, findings.confusions.sentence],
  ...(findings.exclusive && exclusive
    ? [['exclusive labels', exclusive.instances, findings.exclusive]]
    : []),
];

export const groupTable = ({ findings, taxonomy }: Report): Table => [
  ['part', 'label', ...STATES.map(({ key }) => key)],
  ...findings.settled.groups.map(({ name, label, counts }) => [
    name,
    label === null ? null : taxonomy.id[label],
    ...counts,
  ]),
];

export function histogramTable({ findings }: Report): Table {
  const bars = findings.review.histogram;
  return [
    ['expected_f_from', 'expected_f_to', 'instances'],
    ...bars.map((count, bar) => [bar / bars.length, (bar + 1) / bars.length, count]),
  ];
}
