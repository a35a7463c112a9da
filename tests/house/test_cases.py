"""Every real-world case that does not need a cluster has a test with its id in the name."""

import pathlib
import re

TESTS = pathlib.Path(__file__).resolve().parents[1]
# S specs, T states, W watches, K cancel and delete, L logs, P bursts.
IDS = [f"{letter}{i:02}" for letter, last in [("S", 22), ("T", 12), ("W", 12), ("K", 7), ("L", 6), ("P", 7)] for i in range(1, last + 1)]
NEED_A_CLUSTER = {
    "S20": "which version of a kind is served is the API server's answer",
    "T07": "the operator's condition says that a pod was evicted",
    "T11": "conditions are the operator's",
    "T12": "a TrainJob is a kind of a cluster",
    "W01": "410 is the API server's answer to a watch",
    "W02": "resource versions are the API server's",
    "W03": "resource versions are the API server's",
    "W06": "the half-open connection is the one to the API server",
    "W07": "resource versions are the API server's",
    "L06": "the kubelet is the one that is not reachable",
}
# A function test_s01_... of Python or Go, or a row "S01_..." of a table of such tests.
NAMED = re.compile(r"^def test_([A-Za-z]\d\d)_|^\s*\"([A-Z]\d\d)_\w+\": |^func Test([A-Z]\d\d)", re.M)


def named_cases():
    """Id -> the files with a test of it."""
    found = {}
    for path in [*TESTS.glob("*/test_*.py"), *TESTS.glob("*/*_test.go")]:
        for groups in NAMED.findall(path.read_text()):
            found.setdefault("".join(groups).upper(), set()).add(path)
    return found


def test_each_case_has_its_test():
    # What only a fake or a real cluster plays is not counted here.
    found = {i for i, files in named_cases().items() if any(f.parent.name != "cluster" and "kube" not in f.name for f in files)}
    missing = [i for i in IDS if i not in NEED_A_CLUSTER and i not in found]
    assert not missing, f"no test is named by {', '.join(missing)}"


def test_no_test_names_a_case_that_is_not_there():
    others = {f"{letter}{i:02}" for letter, last in [("E", 4), ("A", 5)] for i in range(1, last + 1)}
    assert not set(named_cases()) - set(IDS) - others


def test_what_needs_a_cluster_is_a_case_and_says_why():
    assert set(NEED_A_CLUSTER) <= set(IDS) and all(NEED_A_CLUSTER.values())
