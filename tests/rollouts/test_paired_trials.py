"""Two policies in pairs in a log: what is declared, recorded, withdrawn and shown; and going on."""

import json

import numpy as np
import pytest
from logs_of_trials import BLIND, PAIR_SCORES, THREE, WINS, assert_same

from jaxcert.rollouts import PairedTrials, Trials
from jaxcert.rollouts._paired_trials import open_trials
from jaxcert.sequential import init_pairs, shown_better, update_pairs

pytest.importorskip("filelock")


def outcome_of(trials, rng, place, skills=(0.9, 0.4, 0.3)):
    """Of the policy at this place."""
    if trials.declared.successes:
        return bool(rng.random() < skills[place])
    return float(np.round(rng.uniform(-1, 2) * skills[place], 3))


def made(trials, seed, most=25, share=0.1):
    """Pairs as the schedule advises; some trials are withdrawn, one or several at once."""
    rng = np.random.default_rng(seed)
    while (label := trials.next_policy()) and trials.num_pairs < most:
        trials.add(label, outcome_of(trials, rng, trials.declared.labels.index(label)))
        while rng.random() < share and len(trials.withdrawn) < len(trials.trials):
            trials.undo("unplugged")
    return trials


@pytest.mark.parametrize("begin", [WINS, PAIR_SCORES, BLIND, THREE], ids=["successes", "scores", "blinded", "three"])
@pytest.mark.parametrize("seed", range(3))
def test_who_opens_the_log_goes_on(begin, seed, tmp_path):
    trials = made(begin(tmp_path / "log.jsonl"), seed)
    again = open_trials(tmp_path / "log.jsonl")
    assert isinstance(again, PairedTrials)
    assert (again.declared, again.trials, again.last_hash) == (trials.declared, trials.trials, trials.last_hash)
    assert_same(again.state, trials.state)
    assert_same(again.state_with_withdrawn(), trials.state_with_withdrawn())
    assert (again.next_policy(), again.better()) == (trials.next_policy(), trials.better())
    evidence = again.evidence()
    assert len(evidence) == trials.num_pairs + 1
    np.testing.assert_allclose(evidence[0], 1, rtol=1e-6)
    np.testing.assert_array_equal(evidence[-1], np.asarray(trials.state.mean_wealth)[:, 0])
    given, number = [*zip(*trials.pairs(), strict=True)], len(trials.declared.policies)
    if any(None in of for of in given):
        return
    state = init_pairs(
        num_policies=number,
        delta=0.05,
        **({"support": (-1.0, 2.0), "margin": 0.1} if begin is PAIR_SCORES else {}),
    )
    np.testing.assert_allclose(update_pairs(state, *map(np.array, given)).wealth, trials.state.wealth, rtol=1e-5)


def test_it_ends_when_one_is_better(tmp_path):
    trials = made(WINS(tmp_path / "log.jsonl"), 0, most=200, share=0)
    assert trials.better() == "new"
    assert trials.is_over
    assert trials.next_policy() is None
    before = trials.path.read_bytes()
    with pytest.raises(ValueError, match="new is shown to be better, and another trial is no evidence; expected a new"):
        trials.add("old", True)
    assert trials.path.read_bytes() == before
    trials.undo("mistyped")
    assert (trials.better(), trials.is_over) == (None, False)
    swapped = WINS(tmp_path / "swapped.jsonl", policies=["old", "new"])
    for new, old in trials.pairs():
        for label in ("old", "new"):
            swapped.add(label, bool((old, new)[label == "new"]))
    trials.add(trials.next_policy(), trials.trials[-1].value == 1)
    assert trials.better() == "new"


def test_it_ends_with_the_last_pair(tmp_path):
    trials = WINS(tmp_path / "log.jsonl", max_pairs=8)
    for _ in range(16):
        trials.add(trials.next_policy(), True)
    assert (trials.num_pairs, trials.better(), trials.next_policy()) == (8, None, None)
    with pytest.raises(ValueError, match="all 8 pairs are made, and another trial is no evidence"):
        trials.add("old", True)


def test_the_order_is_drawn_from_the_seed_beforehand(tmp_path):
    one, other = (WINS(tmp_path / f"{seed}.jsonl", seed=seed).declared for seed in (3, 4))
    firsts = [[each.order(pair)[0] for pair in range(400)] for each in (one, other)]
    assert firsts[0] != firsts[1]
    assert all(160 < sum(each) < 240 for each in firsts)
    assert firsts[0][:12] == [0, 1, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1]  # as long as logs are to be read
    drawn = {WINS(tmp_path / f"drawn{i}.jsonl", seed=None).declared.seed for i in range(5)}
    assert len(drawn) == 5
    trials = PairedTrials(tmp_path / "3.jsonl")
    for pair in range(4):
        for place in one.order(pair):
            assert trials.next_policy() == one.labels[place]
            trials.add(one.labels[place], True)
    assert trials.num_out_of_order() == 0
    trials.add(one.labels[one.order(4)[1]], True)
    assert trials.next_policy() == one.labels[one.order(4)[0]]
    assert trials.num_out_of_order() == 1


def test_blinded_policies_have_other_names(tmp_path):
    labels = {BLIND(tmp_path / f"{seed}.jsonl", seed=seed).declared.labels for seed in range(8)}
    assert labels == {("X", "Y"), ("Y", "X")}
    trials = BLIND(tmp_path / "log.jsonl")
    first, *_ = trials.path.read_bytes().splitlines()
    assert json.loads(first)["labels"] == list(trials.declared.labels)
    while label := trials.next_policy():
        trials.add(label, label == trials.declared.labels[1])
    assert trials.better() == "old"


@pytest.mark.parametrize("seed", range(6))
def test_no_message_lists_blinded_policies_in_the_order_that_was_declared(seed, tmp_path):
    trials = THREE(tmp_path / "log.jsonl", seed=seed, blinded=True)
    with pytest.raises(ValueError, match=r"has no policy 'q'; expected one that was declared, such as X, Y, Z$"):
        trials.add("q", True)
    trials.add("X", True)
    with pytest.raises(ValueError, match=r"block 1 has its trial of X; expected the one of Y or Z$"):
        trials.add("X", True)
    with pytest.raises(ValueError, match="block 1 lacks its trial of Y and Z; expected whole ones"):
        trials.drop("X")


@pytest.mark.parametrize("begin", [WINS, PAIR_SCORES], ids=["successes", "scores"])
@pytest.mark.parametrize("seed", range(6))
def test_withdrawn_trials_that_count_show_no_more_than_all_that_were_made(begin, seed, tmp_path):
    """The first trials of each pair are what was made; those made again come after a look, as may all withdrawals."""
    trials = begin(tmp_path / "log.jsonl", delta=0.2)
    rng, first = np.random.default_rng(seed), {}
    for _ in range(60):
        if (label := trials.next_policy()) is None:
            break
        place = trials.declared.labels.index(label)
        value = outcome_of(trials, rng, place)
        first.setdefault(trials.num_pairs, {}).setdefault(place, value)
        trials.add(label, value)
        bad = value < 0.5 if place == 0 else value > 0.5
        while bad and rng.random() < 0.5 and len(trials.withdrawn) < len(trials.trials):
            trials.undo("it is not as we like it")
    assert trials.withdrawn
    counted, honest = trials.state_with_withdrawn(), trials.declared.state()
    for pair in sorted(first):
        if len(first[pair]) == 2:
            honest = update_pairs(honest, first[pair][0], first[pair][1])
    places = {pair for pair in first if len(first[pair]) < 2}
    assert np.all(np.asarray(counted.wealth) <= np.asarray(honest.wealth) * (1 + 1e-5)) or places
    assert np.all(shown_better(counted) <= shown_better(honest))


def test_which_pairs_lost_a_trial(tmp_path):
    """Two withdrawn at once reach into the pair before; the same two one by one do not."""
    at_once, one_by_one = WINS(tmp_path / "a.jsonl", seed=1), WINS(tmp_path / "b.jsonl", seed=1)
    for trials in (at_once, one_by_one):
        for _ in range(3):
            trials.add(trials.next_policy(), True)
    at_once.undo("x")
    at_once.undo("x")
    one_by_one.undo("x")
    one_by_one.add(one_by_one.next_policy(), True)
    one_by_one.undo("x")
    for trials, lost in ((at_once, 2), (one_by_one, 1)):
        bets = np.asarray(trials.state.bets, float)
        np.testing.assert_allclose(trials.state_with_withdrawn().mean_wealth, np.mean((1 - bets) ** lost), rtol=1e-5)
        np.testing.assert_allclose(trials.state.mean_wealth, 1.0, rtol=1e-5)


def tried(trials, *succeed) -> list[str]:
    """The policies of a block in their order, of which these succeed."""
    found = []
    for _ in range(len(trials.declared.policies)):
        found.append(trials.next_policy())
        trials.add(found[-1], found[-1] in succeed)
        if trials.begun is None:
            return found
    raise AssertionError


def test_blocks_of_three_policies_one_of_which_leaves_when_all_is_decided(tmp_path):
    trials = THREE(tmp_path / "log.jsonl", delta=0.5)
    orders = {tuple(trials.declared.order(block)) for block in range(60)}
    assert len(orders) == 6  # every one is drawn
    while not trials.shown():
        assert sorted(tried(trials, "new")) == ["new", "old", "tiny"]
    assert trials.shown() == {"new": ["old", "tiny"]}
    assert (trials.better(), trials.is_over, trials.num_out_of_order()) == ("new", False, 0)
    with pytest.raises(ValueError, match="new is compared with all that are still in; expected old or tiny"):
        trials.add("new", True)
    before = len(trials.trials)
    assert sorted(tried(trials, "old")) == ["old", "tiny"]
    assert [each.value for each in trials.trials[before:]] == [
        None,
        *[place == 1 for place in trials.declared.order(trials.num_pairs - 1) if place],
    ]
    assert trials.pairs()[-1] == (None, 1.0, 0.0)
    with pytest.raises(ValueError, match="new was dropped before block"):
        trials.add("new", True)
    while not trials.is_over:
        tried(trials, "old")
    assert trials.shown() == {"new": ["old", "tiny"], "old": ["tiny"]}
    assert (trials.next_policy(), PairedTrials(trials.path).shown()) == (None, trials.shown())
    with pytest.raises(ValueError, match="no comparison is left to decide, and another trial is no evidence"):
        trials.add("old", True)


def test_a_policy_that_is_dropped_is_tried_no_more_and_taken_back(tmp_path):
    trials = THREE(tmp_path / "log.jsonl")
    tried(trials, "new", "old")
    first = trials.next_policy()
    trials.add(first, True)
    with pytest.raises(ValueError, match=r"block 2 lacks its trial of .* and .*; expected whole ones before a policy"):
        trials.drop("tiny")
    while trials.begun:
        trials.add(trials.next_policy(), True)
    before = trials.state
    trials.drop("tiny")
    for again in (trials, PairedTrials(trials.path)):
        assert again.state.is_open[:, 0].tolist() == [True, False, True, False, False, False]
    with pytest.raises(ValueError, match="tiny was dropped before; expected one that is still in"):
        trials.drop("tiny")
    with pytest.raises(ValueError, match="old is one of the last two policies; expected one of more"):
        trials.drop("old")
    trials.undo("a slip")
    assert_same(trials.state, before)
    assert (trials.withdrawn, trials.state_with_withdrawn().wealth.tolist()) == ((), before.wealth.tolist())
    trials.drop("tiny")
    assert sorted(tried(trials, "new")) == ["new", "old"]
    trials.undo("unplugged")
    trials.undo("unplugged")
    trials.undo("a slip")
    assert sorted(tried(trials, "new")) == ["new", "old", "tiny"]
    assert trials.num_pairs == 3
    lost = trials.state_with_withdrawn()
    assert np.all(np.asarray(lost.mean_wealth) < np.asarray(before.mean_wealth))
    with pytest.raises(ValueError, match="is one of the last two policies"):
        WINS(tmp_path / "two.jsonl").drop("new")


def test_logs_of_the_other_kind_are_refused(tmp_path):
    WINS(tmp_path / "pairs.jsonl")
    Trials.start(tmp_path / "tasks.jsonl", ["a", "b"], 0.5, successes=True, delta=0.1)
    with pytest.raises(ValueError, match=r"is a log of policies in pairs; expected one of tasks \(PairedTrials"):
        Trials(tmp_path / "pairs.jsonl")
    with pytest.raises(ValueError, match=r"is a log of tasks; expected one of policies in pairs \(Trials opens it"):
        PairedTrials(tmp_path / "tasks.jsonl")
    assert isinstance(open_trials(tmp_path / "tasks.jsonl"), Trials)
