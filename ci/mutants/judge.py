"""`ci/mutate judge`: are the judge's own tests worth what they claim?

Every small way to break the verdict code is made by machine, so many are drawn by a seed, and each
is judged by the tests of the judge. At most five of a hundred may survive, each with its reason.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random

from ci.mutants.breaking import members_of, mutants
from ci.mutants.forked import BROKEN_COLLECTION, GREEN, RED, Job, Played, play
from ci.mutants.mutant import Mutant
from ci.mutants.reviewed import reviewed, stale
from ci.mutants.verdict_code import judged_by, modules

ROOT = Path(__file__).resolve().parents[2]
SURVIVORS = Path(__file__).with_name("survivors.toml")
SAMPLE, AT_ONCE = 120, 2
SURVIVE_OF_100_MAX = 5


def main(words: Sequence[str]) -> int:
    """0: enough died. 1: a survivor without a reason, or too many. 2: tests red on whole code."""
    options = _options().parse_args(words)
    everyone = all_mutants(ROOT)
    if options.list:
        for one in everyone:
            print(f"{one.place} {one.kind}\n{one.diff()}")
        print(f"{len(everyone)} mutants")
        return 0
    chosen = drawn(everyone, options.sample, options.seed, options.file)
    with tempfile.TemporaryDirectory(prefix="pdchaos-mutants-") as name:
        if (red := _red_on_whole_code(Path(name))) is not None:
            print(f"the tests are red on whole code:\n{red}")
            return 2
        jobs = [
            Job(number, judged_by(ROOT, one.file), one.file, one.text)
            for number, one in enumerate(chosen)
        ]
        survived = [
            chosen[each.job.number]
            for each in play(ROOT, jobs, Path(name), options.at_once)
            if not _killed(each, chosen[each.job.number])
        ]
    return _told(everyone, chosen, survived)


def all_mutants(root: Path) -> list[Mutant]:
    words = [one.read_text(encoding="utf-8") for one in sorted(root.glob("chaos/*.py"))]
    members = members_of(words)
    return [one for file in modules(root) for one in mutants(root, file, members)]


def drawn(everyone: Sequence[Mutant], count: int, seed: int, files: Sequence[str]) -> list[Mutant]:
    """The same for the same seed, and all of them where there are not more."""
    among = [one for one in everyone if not files or one.file in files]
    if count >= len(among):
        return among
    chosen = Random(f"{seed}/mutants").sample(range(len(among)), count)
    return [among[index] for index in sorted(chosen)]


def _red_on_whole_code(folder: Path) -> str | None:
    tests = list(dict.fromkeys(one for file in modules(ROOT) for one in judged_by(ROOT, file)))
    (played,) = play(ROOT, [Job(0, tests)], folder, 1)
    return None if played.ended == GREEN else played.output


def _killed(played: Played, mutant: Mutant) -> bool:
    """A test that fails, a module that cannot be imported, or a child that does not end."""
    if played.ended is None:
        how = "killed: no end in its bound"
    elif played.ended in (RED, BROKEN_COLLECTION):
        how = f"killed: {_by(played.output)}"
    elif played.ended == GREEN:
        how = "SURVIVED"
    else:
        raise RuntimeError(f"{mutant.place}: pytest ended with {played.ended}:\n{played.output}")
    print(f"{mutant.place} {mutant.kind}: {how}", flush=True)
    return played.ended != GREEN


def _by(output: str) -> str:
    told = [one for one in output.splitlines() if one.startswith(("FAILED", "ERROR"))]
    return told[0].partition(" - ")[0].partition(" ")[2] if told else "at import"


def _told(everyone: Sequence[Mutant], chosen: Sequence[Mutant], survived: Sequence[Mutant]) -> int:
    known = reviewed(SURVIVORS)
    old = stale(known, everyone)
    new = [one for one in survived if one.key not in known]
    killed = [one for one in chosen if one.key in known and one not in survived]
    for one in survived:
        print(f"\n{one.place} {one.kind}: {known.get(one.key, 'NOT REVIEWED')}\n{one.diff()}")
    for key in [*old, *(one.key for one in killed)]:
        print(f"\n{SURVIVORS.name} has a line that is not true any more: {' | '.join(key)}")
    print(f"\n{len(chosen)} of {len(everyone)} mutants: {len(survived)} survived, {len(new)} new")
    too_many = 100 * len(survived) > SURVIVE_OF_100_MAX * len(chosen)
    return 1 if new or old or killed or too_many else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("ci/mutate judge", description=__doc__)
    parser.add_argument("--sample", type=int, default=SAMPLE, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("--list", action="store_true", help="all of them, without judging any")
    parser.add_argument("file", nargs="*", help="only mutants of these modules")
    return parser
