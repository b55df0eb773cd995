"""The leaderboard of `jaxcert compare` with three files or more: what it certifies, how delta is shared, its files."""

import html
import json
import re
from fractions import Fraction
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from cli_harness import command, refused, said, table
from report.alterations import altered

import jaxcert
from jaxcert.certificates import floor_figures, floor_to
from jaxcert.report import verify
from jaxcert.report._leaderboard import Leaderboard, asked_of_each
from jaxcert.report.plots._interval_plot import shared_letters

RNG = np.random.default_rng(0)
A = RNG.beta(9, 1, (60, 20)).astype(np.float32)
POLICIES = {"worst.npz": (0.4 * A), "best.npz": A, "near.npz": (0.99 * A)}
SETTINGS = ("--support", 0, 1, "--delta", 0.1)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("policies")
    for name, returns in POLICIES.items():
        np.savez(folder / name, returns=returns)
    return [folder / name for name in POLICIES]


def board_of(thresholds, num_policies, delta, **options) -> Leaderboard:
    return Leaderboard(asked_of_each(thresholds, listed=False, **options), False, ["a"] * num_policies, delta)


def rows(out: str) -> dict[str, list[str]]:
    lines = [line.split() for line in out.splitlines()]
    return {words[0]: words[1:] for words in lines if words and words[0] in POLICIES}


@pytest.mark.slow
def test_every_number_is_certified_at_its_share_of_delta(files):
    out = said("compare", *files, *SETTINGS, "--threshold", "0.2,0.7")
    found, level = rows(out), {"support": (0, 1), "delta": float(np.nextafter(0.1 / 12, 0))}
    assert list(found)[-1] == "worst.npz"
    for name, returns in POLICIES.items():
        mean = float(jaxcert.certify_mean(returns, **level).mean)
        safety = jaxcert.certify(returns, [0.2, 0.7], **level).safety
        assert found[name][:3] == [floor_figures(mean), *(floor_to(float(x), 4) for x in safety)]
    order = jaxcert.certify_ranking(np.stack([*POLICIES.values()]), support=(0, 1), delta=3 * level["delta"]).order
    named = [[name for name in POLICIES if name in " ".join(found[policy][3:])] for policy in POLICIES]
    expected = [[name for j, name in enumerate(POLICIES) if row[j] and i != j] for i, row in enumerate(order.tolist())]
    assert named == expected == [[], ["worst.npz"], ["worst.npz"]]
    assert "With confidence 0.9 all of this holds at once" in out
    assert "12 statements (3 means, 6 statements at thresholds, 3 pairs): 0.00833334 each" in out


def test_the_order_of_two_has_all_of_delta(files):
    """Whichever of them is better."""
    pair = np.stack([*POLICIES.values()][:2])
    order = np.asarray(jaxcert.certify_ranking(pair, support=(0, 1), delta=0.1).order)
    for turned in (1, -1):
        out = said("compare", *files[:2][::turned], *SETTINGS, "--question", "ranking")
        assert "With confidence 0.9 all of this order holds at once" in out
        assert "Delta is shared" not in out
        named = [
            name in " ".join(rows(out)[other]) for name, other in zip(POLICIES, list(POLICIES)[1::-1], strict=False)
        ]
        assert named == [bool(order[1, 0]), bool(order[0, 1])]


def test_a_fixed_list_has_counts_and_means_of_its_tasks(files):
    out = said("compare", *files, *SETTINGS, "--suite", "--threshold", 0.2)
    level = {"support": (0, 1), "delta": float(np.nextafter(0.1 / 9, 0))}
    for name, (mean, good, *_) in rows(out).items():
        assert mean == floor_figures(float(jaxcert.certify_suite_mean(POLICIES[name], **level).mean))
        assert int(good) == int(jaxcert.certify_suite(POLICIES[name], 0.2, **level).num_good[0])
    assert "means and their order over these 60 tasks" in out


@pytest.mark.parametrize("arms", ["ab", "abc"])
def test_a_table_of_all_policies_is_given_once(arms, tmp_path):
    kinds = [(*at, *arm) for at in np.ndindex(60, 20) for arm in zip(arms, (0.9, 0.5, 0.2), strict=False)]
    rows = [(*kind, int(RNG.random() < rate)) for *kind, rate in kinds]
    path = table(tmp_path / "t.csv", "task,trial,arm,success", rows)
    out, page = tmp_path / "c.json", tmp_path / "p.html"
    mean = ("--mean",) if len(arms) == 2 else ()
    assert command("compare", path, "--policy", "arm", *mean, "--delta", 0.1, "--json", out, "--report", page)[0] == 0
    assert "jaxcert verify c.json t.csv" in page.read_text()
    told = "; of rows where arm = a; of rows where arm = b"
    if len(arms) == 3:
        told = "".join(f"; certificate {i + 1}: of rows where arm = {arm}" for i, arm in enumerate(arms))
    for files in ([path], [path] * len(arms)):
        status, said, err = command("verify", out, *files)
        assert (status, err) == (0, "")
        assert said.startswith("verified: ")
        assert said.endswith(f"{told}\n")
    if len(arms) == 3:
        assert "has 3 policies, a, b, c; given are 2 files" in refused("verify", out, path, path)
        altered(out, lambda document: document["leaderboard"]["order"][0].update(policy="c"))
        assert "leaderboard order: the policy 'c' comes from the file 't.csv', 'a'" in command("verify", out, path).out


@pytest.mark.parametrize("num_policies", [3, 4, 7])
@pytest.mark.parametrize("delta", [0.05, 1e-3, 0.3])
def test_the_shares_are_below_delta_together(num_policies, delta):
    board = board_of([0.1, 0.2], num_policies, delta)
    assert board.counts == {
        "means": num_policies,
        "statements at thresholds": 2 * num_policies,
        "pairs": num_policies * (num_policies - 1) // 2,
    }
    total = sum(board.counts.values()) * Fraction(board.share)
    assert Fraction(delta) * Fraction(999_999, 1_000_000) < total <= Fraction(delta)


def trials(path, skill, seed, blank=0):
    """A table of successes; the first ``blank`` trials have no outcome."""
    passed = np.random.default_rng(seed).random((30, 6)) < skill
    rows = [(f"t{i}", j, "" if 6 * i + j < blank else int(ok)) for (i, j), ok in np.ndenumerate(passed)]
    return table(path, "task,trial,success", rows)


@pytest.mark.parametrize("kind", ["--suite", "--sampled"])
def test_unfinished_rollouts_count_as_the_worst_and_help_no_other(tmp_path, kind):
    """The option is the one that the refusal proposes; the best policy is not as good as one that has such rollouts."""
    best, cut, worst = (
        trials(tmp_path / name, skill, seed, blank)
        for seed, (name, skill, blank) in enumerate([("a.csv", 0.97, 0), ("b.csv", 0.6, 2), ("c.csv", 0.1, 0)])
    )
    given = ("compare", best, cut, worst, kind, "--delta", 0.1)
    assert "(--unfinished 0)" in refused(*given)
    out = said(*given, "--unfinished", 0, "--json", tmp_path / "board.json")
    assert "2 without an outcome, counted as 0" in out
    assert "No policy is certified to be at least as good as b.csv" in out
    document = json.loads((tmp_path / "board.json").read_text())
    order = {each["policy"]: each["at_least_as_good_as"] for each in document["leaderboard"]["order"]}
    assert order == {"a.csv": ["c.csv"], "b.csv": ["c.csv"], "c.csv": []}
    assert command("verify", tmp_path / "board.json", best, cut, worst)[0] == 0
    needed = {"--suite": "trials of each task", "--sampled": "tasks"}[kind]
    assert f"\nNot told apart: a.csv and b.csv; how many new {needed} it takes: jaxcert plan A --against B" in out
    assert "and c.csv" not in out.partition("Not told apart")[2]


@pytest.fixture(scope="module", params=[(), ("--suite",)], ids=["new tasks", "a list"])
def written(request, files, tmp_path_factory):
    """The document of a leaderboard, its file and its page."""
    folder = tmp_path_factory.mktemp("board")
    outputs = ("--json", folder / "board.json", "--report", folder / "board.html", "--title", "Three <arms>")
    out = said("compare", *files, *SETTINGS, "--threshold", 0.2, *request.param, *outputs)
    return json.loads((folder / "board.json").read_text()), folder / "board.json", folder / "board.html", out


def test_the_file_of_a_leaderboard_is_verified(written, files):
    document, path, _, out = written
    assert str(verify(path, files[0], others=files[1:])) == "verified: 6 certificates, 9 statements"
    assert command("verify", path, *files)[0] == 0
    assert document["leaderboard"]["sentence"] in out
    order = {entry["policy"]: entry["at_least_as_good_as"] for entry in document["leaderboard"]["order"]}
    of_best = ["worst.npz", "near.npz"] if "these 60 tasks" in out else ["worst.npz"]
    assert order == {"worst.npz": [], "best.npz": of_best, "near.npz": ["worst.npz"]}
    total = sum(Fraction(record["settings"]["delta"]) for record in document["certificates"])
    assert total + 3 * Fraction(board_of([0.2], 3, 0.1).share) <= Fraction(0.1)


ALTERATIONS = {
    "an order that is not certified": (
        lambda d: d["leaderboard"]["order"][1]["at_least_as_good_as"].append("near.npz"),
        "leaderboard order 2 at_least_as_good_as",
    ),
    "a smaller delta": (lambda d: d["leaderboard"].update(delta=0.05), "its share of the leaderboard's is"),
    "fewer statements": (lambda d: d["leaderboard"]["statements"].update(pairs=1), "leaderboard statements pairs is 1"),
    "other words": (
        lambda d: d["leaderboard"].update(sentence="With confidence 0.99 all of this holds."),
        "leaderboard sentence is 'With confidence 0.99",
    ),
    "certificates in another order": (lambda d: d["certificates"].reverse(), "is not of one or two questions|sha256"),
    "another threshold of one policy": (
        lambda d: d["certificates"][4]["rows"][0].update(threshold=0.1),
        "certificates are not of one or two questions, asked of each policy in the same way",
    ),
    "another support of one policy": (
        lambda d: d["certificates"][1]["settings"].update(support=[0.0, 2.0]),
        "certificates are not of one or two questions, asked of each policy in the same way",
    ),
    "no support": (lambda d: d["certificates"][0]["settings"].pop("support"), "not of one or two questions"),
    "no support anywhere": (
        lambda d: [each["settings"].pop("support") for each in d["certificates"]],
        "not of one or two questions",
    ),
    "a policy of another name": (
        lambda d: d["leaderboard"]["order"][0].update(policy="better.npz"),
        "the policy 'better.npz' comes from the file 'worst.npz'",
    ),
    "no data": (lambda d: d["certificates"][0].update(data=None), "the policy 'worst.npz' comes from the file None"),
    "other frequencies": (
        lambda d: d["certificates"][0]["settings"].update(frequencies=["a=0.9", "b=0.1"]),
        "not of one or two",
    ),
    "no rows": (lambda d: d["certificates"][4].update(rows=[]), "are not of one or two questions"),
    "another kind of rows": (
        lambda d: d["certificates"][4].update(fixed_beforehand="safety"),
        "fixed_beforehand is 'safety'|has not the entries of an answer",
    ),
    "a larger mean": (
        lambda d: d["certificates"][1]["rows"][0].update(mean=d["certificates"][1]["rows"][0]["mean"] + 0.01),
        "certificate 2: rows 1 mean is",
    ),
}


@pytest.mark.parametrize("name", ALTERATIONS)
def test_an_altered_leaderboard_differs(written, files, name):
    change, words = ALTERATIONS[name]
    found = verify(altered(written[1], change, name="other.json"), files[0], others=files[1:])
    assert not found.ok
    assert any(part in str(found) for part in words.split("|"))


def test_a_leaderboard_of_other_files_differs(written, files):
    path = written[1]
    assert "sha256" in str(verify(path, files[1], others=[files[0], files[2]]))
    with pytest.raises(ValueError, match=r"has 3 policies, worst.npz, best.npz, near.npz; given are 2 files"):
        verify(path, files[0], others=files[1:2])
    for number in (0, 1, 4):
        cut = altered(path, lambda d, number=number: d.update(certificates=d["certificates"][:number]), name="c")
        with pytest.raises(ValueError, match=f"holds {number} certificates of 3 policies; expected as many of each"):
            verify(cut, files[0], others=files[1:])


def test_the_page_of_a_leaderboard_says_what_the_table_does(written):
    document, _, page, _ = written
    text = page.read_text()
    assert "<h1>Three &lt;arms&gt;</h1>" in text
    for claim in ("best.npz is at least as good as worst.npz", document["leaderboard"]["sentence"]):
        assert claim in text
    for record in document["certificates"]:
        assert record["data"]["sha256"] in text
    assert "jaxcert verify board.json worst.npz best.npz near.npz" in text
    assert "<svg" in text
    assert "http" not in re.sub(r' xmlns(:\w+)?="[^"]*"', "", text)


@pytest.mark.parametrize("seed", range(20))
def test_policies_share_a_letter_if_and_only_if_they_are_not_told_apart(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 12))
    apart = np.triu(rng.random((p, p)) < rng.random(), 1)
    apart |= apart.T
    letters = shared_letters(apart | np.eye(p, dtype=bool) * (seed % 2 == 0))
    for i in range(p):
        assert letters[i]
        for j in range(p):
            assert bool(set(letters[i]) & set(letters[j])) == (i == j or not apart[i, j])


@pytest.mark.parametrize("kind", ["--suite", "--sampled"])
def test_the_order_alone_has_all_of_delta(files, tmp_path, kind):
    outputs = [tmp_path / name for name in ("c.html", "c.png")]
    asked = ("compare", *files, *SETTINGS, kind, "--question", "ranking")
    out = said(*asked, "--report", outputs[0], "--plot", outputs[1])
    assert "all of this order holds at once, over" in out
    assert "3 statements (3 pairs): 0.0333334 each" in out
    assert "mean" not in out
    assert rows(out)["best.npz"][0].startswith("worst.npz")
    assert "best.npz is at least as good as worst.npz" in outputs[0].read_text()
    assert board_of(None, 3, 0.1, has_means=False).share == pytest.approx(2 * board_of(None, 3, 0.1).share)


@pytest.mark.parametrize("names", ["pi0,act", "pi_0 & co, <act>, diffusion"])
def test_policies_are_called_by_their_names_everywhere(files, tmp_path, names):
    """In what is printed, the file, the page and the plot; a renamed file of returns is verified all the same."""
    first, second, *rest = called = [name.strip() for name in names.split(",")]
    outputs = [tmp_path / name for name in ("c.json", "c.html", "c.svg")]
    asked = ("compare", *files[: len(called)], *SETTINGS, "--names", names)
    with mpl.rc_context({"svg.fonttype": "none"}):
        out = said(
            *asked, *(() if rest else ["--mean"]), "--json", outputs[0], "--report", outputs[1], "--plot", outputs[2]
        )
    written = [html.unescape(path.read_text()) for path in outputs]
    for text in (out, *written):
        assert first in text
        assert "policy A" not in text.replace("is policy A better than policy B", "").replace("Policy A is", "")
    seen = [name if name.isalnum() else f'"{name}"' for name in called]
    one, two, *_ = seen
    claim = f"{two} is at least as good as {one}" if rest else f"expected return of {one} minus that of {two}"
    assert claim in written[1]
    if not rest:
        assert claim in json.loads(written[0])["certificates"][0]["rows"][0]["sentence"]
        assert claim in out
        assert f"{first} minus {second}" in written[2]
    copies = [tmp_path / f"copy {i}.npz" for i in range(len(called))]
    for path, copy_of in zip(copies, files, strict=False):
        path.write_bytes(copy_of.read_bytes())
    found = verify(outputs[0], copies[0], others=copies[1:])
    told = ", ".join(f'{name} is "{path.name}"' for name, path in zip(seen, copies, strict=True))
    assert found.ok
    assert str(found).splitlines()[1:] == [f"names as the file has them: {told}"]
    place = (lambda d: d["leaderboard"]["order"][0]) if rest else (lambda d: d["certificates"][0]["others"][0])
    other = altered(outputs[0], lambda d: place(d).update({"policy" if rest else "called": "other"}), name="d.json")
    assert not verify(other, copies[0], others=copies[1:]).ok


@pytest.mark.parametrize("kind", ["pair", "leaderboard", "thresholds", "called like the other"])
def test_names_of_files_are_those_of_the_files_that_are_checked(files, tmp_path, kind):
    """Two files exchange their names in all of a document, whose digest follows: its numbers are those of the other."""
    count, path = 2 if kind in ("pair", "called like the other") else 3, tmp_path / "c.json"
    names = [each.name for each in files[:count]]
    asked = ["--mean"] if count == 2 else ["--threshold", 0.5] if kind == "thresholds" else []
    given = ["--names", "x,y"] if kind == "called like the other" else []
    assert command("compare", *files[:count], *SETTINGS, *asked, *given, "--json", path)[0] == 0
    before = verify(path, files[0], others=files[1:count])
    assert (before.ok, before.names == "") == (True, not given)
    text = path.read_text()
    if given:
        text = re.sub(r'"(called)": "x"', rf'"\1": "{names[1]}"', text).replace(" of x ", f" of {names[1]} ")
    else:
        text = text.replace(names[0], "?").replace(names[1], names[0]).replace("?", names[1])
    path.write_text(text)
    exchanged = verify(altered(path, lambda _: None), files[0], others=files[1:count])
    assert f"its statements say {names[1]!r}, these files {names[0]!r}" in exchanged.differences


def test_a_leaderboard_has_no_tasks_from_strata(there):
    """Their means would be over another distribution than the one that it names."""
    rows = [(f"q{i}", "ab"[i % 2], who, j, int((i + j) % 4 > 0)) for i in range(8) for who in "xyz" for j in range(2)]
    table("t.csv", "task,kind,agent,trial,success", rows)
    assert command("compare", "t.csv", "--policy", "agent", "--delta", 0.1, "--json", "l.json").status == 0

    asked = ("compare", "t.csv", "--policy", "agent", "--delta", 0.1, "--strata", "kind")
    assert "--strata is given, which a leaderboard does not take" in refused(*asked)

    def in_strata(document):
        for each in document["certificates"]:
            each["data"]["roles"]["strata"] = "kind"

    assert "not of one or two questions" in str(verify(altered(Path("l.json"), in_strata, name="o.json"), "t.csv"))
