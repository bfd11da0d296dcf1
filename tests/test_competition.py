import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import competition  # noqa: E402


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(competition, "PLACE", tmp_path)
    return competition.deal(3)


def read(folder, name):
    return pd.read_csv(folder / name)


def nearest(folder, release):
    """A simple attack: is there a row of the pattern with nearly this income?"""
    candidates = read(folder, "attackers/candidates.csv")
    both = candidates.merge(release, on=competition.KNOWN, suffixes=("", " released"))
    near = (both["income"] - both["income released"]).abs() <= 1
    found = candidates["candidate"].isin(both.loc[near, "candidate"])
    return pd.DataFrame(
        {"candidate": candidates["candidate"], "probability": found.astype(float)}
    )


def hand_in(folder, team, release, guesses):
    release.to_csv(folder / "releases" / f"{team}.csv", index=False)
    for attacker, guess in guesses.items():
        guess.to_csv(folder / "guesses" / f"{attacker}-on-{team}.csv", index=False)


def test_what_is_dealt_agrees(folder):
    confidential = read(folder, "releasers/confidential.csv")
    candidates = read(folder, "attackers/candidates.csv")
    members = read(folder, "teacher/members.csv")
    assert len(confidential) == competition.N
    assert len(candidates) == competition.CANDIDATES
    assert members["in"].mean() == 0.5
    columns = [*competition.KNOWN, "income"]
    inside = candidates[members["in"].to_numpy()][columns]
    assert len(inside.merge(confidential)) >= len(inside)
    assert "in" not in candidates
    again = competition.deal(3)
    assert read(again, "teacher/members.csv").equals(members)
    assert f"{competition.N} households" in (folder / "RULES.md").read_text()


def test_a_copy_is_found_out_and_a_shuffle_is_not(folder):
    confidential = read(folder, "releasers/confidential.csv")
    rng = np.random.default_rng(1)
    noisy = confidential.assign(
        income=confidential["income"] * np.exp(rng.normal(0, 0.7, competition.N))
    )
    for team, release in (("copy", confidential), ("noise", noisy)):
        coin = nearest(folder, release).assign(probability=0.5)
        hand_in(folder, team, release, {"near": nearest(folder, release), "coin": coin})
    board = competition.score(folder)
    assert board.loc["copy", "loss"] == 0
    assert board.loc["copy", "advantage"] > 0.85
    assert board.loc["copy", "best attack"] == "near"
    assert board.loc["noise", "loss"] > 3
    assert abs(board.loc["noise", "advantage"]) < 0.3
    assert (board["attacks"] == 2).all()
    assert pd.read_csv(folder / "board.csv")["release"].tolist() == ["copy", "noise"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.head(10), "must have 400 rows.* this one has 10"),
        (lambda table: table.drop(columns="age"), "a release must have"),
        (lambda table: table.assign(income=np.nan), "one is missing"),
    ],
)
def test_a_release_of_another_shape_is_refused(folder, change, message):
    confidential = read(folder, "releasers/confidential.csv")
    with pytest.raises(ValueError, match=message):
        competition.loss(confidential, change(confidential))


def test_every_candidate_needs_a_probability(folder):
    members = read(folder, "teacher/members.csv")
    guesses = members[["candidate"]].assign(probability=0.5)
    assert competition.advantage(guesses, members) == 0
    right = guesses.assign(probability=members["in"].astype(float))
    assert competition.advantage(right, members) == 1
    for wrong in (guesses.iloc[1:], guesses.assign(probability=1.1)):
        with pytest.raises(ValueError, match="one probability from 0 to 1"):
            competition.advantage(wrong, members)


def test_nothing_handed_in_is_said(folder):
    with pytest.raises(SystemExit, match="no release was handed in"):
        competition.main("score", str(folder))


@pytest.mark.parametrize("words", [(), ("deal", "x"), ("score", "nowhere")])
def test_other_commands_are_refused(words):
    with pytest.raises(SystemExit, match="Usage"):
        competition.main(*words)
