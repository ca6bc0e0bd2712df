"""Write the bundled example: python tools/make_garden.py [FOLDER].

Photographs show what lives together: a meadow has monarda, bees and hummingbirds. A dozen
people name what they see. Experts are specific and right about the few that they look at;
passers-by say "flower"; two look-alike species are confused by most; two hardly ever answer.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from mhpc.data.index import Index
from mhpc.data.taxonomy import Taxonomy
from mhpc.data.votes import Truth
from mhpc.read.paths import taxonomy_from_paths
from mhpc.simulation.sources import Profile, simulate
from mhpc.write.tables import write_csv, write_votes

SEED = 2016
PHOTOGRAPHS = 300

SPECIES = {
    "plant > flower > daisy family": ("sunflower", "dandelion", "coneflower", "aster"),
    "plant > flower > mint family": ("monarda", "lavender", "sage"),
    "plant > flower > willowherb family": ("fuchsia", "fireweed"),
    "plant > tree > oak family": ("red oak", "white oak"),
    "plant > tree > maple family": ("sugar maple", "red maple"),
    "plant > tree > pine family": ("pine", "spruce", "fir"),
    "plant > fern > shield fern family": ("lady fern", "wood fern"),
    "animal > bird > hummingbird": ("ruby-throated hummingbird", "rufous hummingbird"),
    "animal > bird > finch": ("goldfinch", "house finch", "crossbill"),
    "animal > bird > woodpecker": ("downy woodpecker", "hairy woodpecker"),
    "animal > insect > bee": ("honey bee", "bumblebee", "mason bee"),
    "animal > insect > butterfly": ("monarch", "viceroy", "swallowtail"),
    "animal > insect > beetle": ("ladybird", "stag beetle"),
    "animal > mammal > squirrel": ("grey squirrel", "red squirrel", "chipmunk"),
}

HABITATS = {
    "meadow": ("coneflower", "monarda", "bumblebee", "monarch", "goldfinch", "aster"),
    "cottage garden": ("lavender", "fuchsia", "honey bee", "rufous hummingbird", "sage"),
    "roadside": ("dandelion", "sunflower", "viceroy", "ladybird", "house finch", "mason bee"),
    "clearing": ("fireweed", "swallowtail", "ruby-throated hummingbird", "lady fern"),
    "oak wood": ("red oak", "white oak", "grey squirrel", "downy woodpecker", "stag beetle"),
    "maple wood": ("sugar maple", "red maple", "chipmunk", "hairy woodpecker", "wood fern"),
    "conifer wood": ("pine", "spruce", "fir", "red squirrel", "crossbill"),
}

PEOPLE = {
    "field botanist": Profile(specificity=0.99, accuracy=0.97, coverage=0.12),
    "bird warden": Profile(specificity=0.98, accuracy=0.93, coverage=0.15),
    "entomologist": Profile(specificity=0.98, accuracy=0.95, coverage=0.08),
    "keen amateur": Profile(specificity=0.95, accuracy=0.80, coverage=0.40),
    "retired teacher": Profile(specificity=0.93, accuracy=0.70, coverage=0.35),
    "photographer": Profile(specificity=0.88, accuracy=0.65, coverage=0.55),
    "phone app": Profile(specificity=0.97, accuracy=0.60, coverage=0.60),
    "day tripper": Profile(specificity=0.78, accuracy=0.70, coverage=0.45),
    "school class": Profile(specificity=0.75, accuracy=0.50, coverage=0.50),
    "guesser": Profile(specificity=0.95, accuracy=0.25, coverage=0.40),
    "night porter": Profile(specificity=0.85, accuracy=0.75, coverage=0.02),
    "lost tourist": Profile(specificity=0.70, accuracy=0.60, coverage=0.01),
}


def main(folder: Path) -> None:
    """Write taxonomy.csv, truth.csv and votes.csv."""
    taxonomy = _taxonomy()
    truth = _truth(taxonomy, np.random.default_rng(SEED))
    votes = simulate(truth, taxonomy, list(PEOPLE.values()), seed=SEED, names=list(PEOPLE))
    folder.mkdir(parents=True, exist_ok=True)
    edges = (
        (name, *(taxonomy.labels[parent] for parent in taxonomy.parents_of(label)))
        for label, name in enumerate(taxonomy.labels)
    )
    write_csv(folder / "taxonomy.csv", ("label", "parent"), ((*edge, "")[:2] for edge in edges))
    # A photograph that nobody answered is not in the votes, so its truth helps no one.
    answered = set(votes.instance.tolist())
    pairs = zip(truth.instance.tolist(), truth.label.tolist(), strict=True)
    rows = ((truth.instances[i], truth.labels[k]) for i, k in pairs if i in answered)
    write_csv(folder / "truth.csv", ("instance", "label"), rows)
    write_votes(folder / "votes.csv", votes)


def _taxonomy() -> Taxonomy:
    """Return the hierarchy with plain names as ids: no two things here share a name."""
    paths = [f"{family} > {name}" for family, names in SPECIES.items() for name in names]
    by_path = taxonomy_from_paths(paths)
    return replace(by_path, labels=Index(by_path.names))


def _truth(taxonomy: Taxonomy, rng: np.random.Generator) -> Truth:
    """Draw a habitat for each photograph, and one to three species, mostly of that habitat."""
    everything = [name for names in SPECIES.values() for name in names]
    instance: list[int] = []
    label: list[int] = []
    for photograph in range(PHOTOGRAPHS):
        at_home = HABITATS[rng.choice(list(HABITATS))]
        count = rng.choice([1, 2, 3], p=[0.4, 0.4, 0.2])
        seen = set(rng.choice(at_home, size=count, replace=False))
        if rng.random() < 0.1:
            seen.add(rng.choice(everything))
        label.extend(taxonomy.locate(sorted(seen)))
        instance.extend([photograph] * len(seen))
    return Truth(
        instances=Index(tuple(f"photo-{n + 1:03}" for n in range(PHOTOGRAPHS))),
        labels=taxonomy.labels,
        instance=np.array(instance),
        label=np.array(label),
    )


if __name__ == "__main__":
    here = Path(__file__).resolve().parent.parent
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else here / "src/mhpc/datasets/garden")
