"""Runs every test of the project and counts them. Called by tools/test, which has installed what is missing.

A part is one kind of test. Each prints what failed and gives (passed, failed, skipped); the last line of all is
`N passed, N failed, N skipped`. Logs of everything go to build/test/.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

ROOT = pathlib.Path(__file__).resolve().parents[1]
LOGS = ROOT / "build" / "test"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "trainerd"
CLANG_FORMAT, CLANG_TIDY = "clang-format-14", "clang-tidy-14"
FUZZ_SECONDS = int(os.environ.get("TRAINERD_FUZZ_SECONDS", "60"))
# The most that building the cluster's programs may take; what is compiled by then is kept for the next time.
BED_SECONDS = int(os.environ.get("TRAINERD_BED_SECONDS", "2400"))


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def check(self, name, ok, detail=""):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            say(f"  FAILED {name}" + (f"\n{indent(detail)}" if detail else ""))

    def skip(self, name, why):
        self.skipped += 1
        say(f"  skipped {name}: {why}")

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def say(text):
    print(text, flush=True)


def indent(text, lines=60):
    kept = text.rstrip().splitlines()
    if len(kept) > lines:
        kept = ["..."] + kept[-lines:]
    return "\n".join("    " + line for line in kept)


def run(command, log, **kw):
    """Runs with its output in a log file; returns (status, text)."""
    LOGS.mkdir(parents=True, exist_ok=True)
    path = LOGS / (log + ".log")
    with open(path, "wb") as f:
        status = subprocess.run(command, stdout=f, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **kw).returncode
    return status, path.read_text(errors="replace")


def build(preset, tally, *targets):
    status, text = run(["cmake", "--preset", preset], f"configure-{preset}", cwd=ROOT)
    if status == 0:
        extra = ["--target", *targets] if targets else []
        status, text = run(["cmake", "--build", "--preset", preset, *extra], f"build-{preset}", cwd=ROOT)
    tally.check(f"build of preset {preset}", status == 0, text)
    return status == 0


def ours(*patterns):
    files = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [f for f in files.split() if not f.startswith("gen/") and (ROOT / f).exists()]


# ---- Parts ---------------------------------------------------------------------------------------------------------------------


def part_house(t):
    """layers, format, generated code, contract"""
    status, text = run([sys.executable, "tools/check-layers"], "check-layers", cwd=ROOT)
    t.check("tools/check-layers", status == 0, text)
    status, text = run([CLANG_FORMAT, "--dry-run", "--Werror", *ours("*.c", "*.h")], "format", cwd=ROOT)
    t.check(CLANG_FORMAT, status == 0, text)
    if shutil.which("go"):
        status, text = run(["tools/gen", "--check"], "gen-check", cwd=ROOT)
        t.check("tools/gen --check", status == 0, text)
    else:
        t.skip("tools/gen --check", "needs go for the Go stubs")
    for script in ["tests/house", "tests/contract"]:
        if (ROOT / script).is_dir():
            pytest(t, script)


def part_clang(t):
    """the other compiler, and clang-tidy"""
    if not build("clang", t):
        return
    sources = [f for f in ours("src/*.c", "plugins/*.c")]
    jobs = os.cpu_count() or 1

    def tidy(source):
        r = subprocess.run([CLANG_TIDY, "-p", "build/clang", "--quiet", source], cwd=ROOT, capture_output=True, text=True)
        return source, r.returncode, r.stdout

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for source, status, text in pool.map(tidy, sources):
            t.check(f"clang-tidy {source}", status == 0, text)


CRITERION = re.compile(r"Tested: (\d+) \| Passing: (\d+) \| Failing: (\d+) \| Crashing: (\d+)")


def part_unit(t):
    """Criterion programs under address and undefined-behaviour sanitizers, leaks failing"""
    if not build("dev", t):
        return
    listing = subprocess.run(["ctest", "--show-only=json-v1"], cwd=ROOT / "build" / "dev", capture_output=True, text=True, check=True)
    programs = [(test["name"], test["command"]) for test in json.loads(listing.stdout)["tests"] if test.get("command")]
    leaks = LOGS / "leaks"
    shutil.rmtree(leaks, ignore_errors=True)
    leaks.mkdir(parents=True)

    def one(item):
        name, command = item
        slug = name.replace("/", "-")
        env = dict(os.environ)
        # Criterion counts a leaking test as passing: the report file is what tells.
        env["ASAN_OPTIONS"] = f"detect_leaks=1:log_path={leaks / slug}"
        env["UBSAN_OPTIONS"] = "print_stacktrace=1"
        env["LSAN_OPTIONS"] = f"suppressions={ROOT / 'tools' / 'lsan.supp'}:print_suppressions=0"
        try:
            status, text = run([*command, "--jobs", "2"] if "test_" in name else command, slug, env=env, timeout=300)
        except subprocess.TimeoutExpired:
            return name, slug, 1, "took longer than 300 s"
        return name, slug, status, text

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = list(pool.map(one, programs))

    def bad(result):
        return result[2] != 0 or any(leaks.glob(result[1] + ".*"))

    # As with pytest: what fails is run once more, alone, and said.
    failed = [r for r in results if bad(r)]
    if 0 < len(failed) <= 3:
        for name, slug, status, text in failed:
            for report in leaks.glob(slug + ".*"):
                report.unlink()
            again = one((name, dict(programs)[name]))
            if not bad(again):
                say(f"  {name} passed only at the second try:\n{indent(text, 12)}")
            results[[r[0] for r in results].index(name)] = again
    for name, slug, status, text in results:
        counts = CRITERION.search(re.sub(r"\x1b\[[0-9;]*m", "", text))
        if counts:
            tested, passing, _, _ = map(int, counts.groups())
            t.passed += passing
            t.failed += tested - passing
            bad = tested - passing
            if bad or status != 0:
                t.failed += 0 if bad else 1
                say(f"  FAILED {name}\n{indent(text)}")
        else:
            t.check(name, status == 0, text)
        for report in leaks.glob(slug + ".*"):
            t.check(f"{name}: sanitizer report", False, report.read_text(errors="replace"))


def venv():
    """The tests' Python environment, outside the tree, made once per content of tests/requirements.txt."""
    wanted = (ROOT / "tests" / "requirements.txt").read_bytes()
    path = CACHE / ("venv-" + hashlib.sha256(wanted).hexdigest()[:16])
    python = path / "bin" / "python"
    if not (path / "complete").exists():
        say(f"  making the tests' Python environment in {path} (about 60 MB)")
        base = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
        subprocess.run([base, "-m", "venv", "--clear", path], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", ROOT / "tests" / "requirements.txt"], check=True)
        (path / "complete").touch()
    return python


def run_pytest(slug, folder, full, *more):
    """Returns (status, text, report as a list of (id, name, problem, skipped)); None without a report."""
    report = LOGS / (slug + ".xml")
    report.unlink(missing_ok=True)
    status, text = run([venv(), "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider", f"--junitxml={report}", *(more or [folder])], slug, cwd=ROOT, env=full)
    if not report.exists():
        return status, text, None
    cases = []
    for case in ET.parse(report).iter("testcase"):
        problem = case.find("failure") if case.find("failure") is not None else case.find("error")
        skipped = case.find("skipped")
        path = case.get("classname").replace(".", "/") + ".py"
        path = path if (ROOT / path).exists() else "tests/" + path
        cases.append((f"{path}::{case.get('name')}", problem.text or "" if problem is not None else None, skipped.get("message", "no reason given") if skipped is not None else None))
    return status, text, cases


def pytest(t, folder, env=None):
    slug = folder.replace("/", "-")
    full = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **(env or {}))
    status, text, cases = run_pytest(slug, folder, full)
    if cases is None or status not in (0, 1):
        t.check(folder, False, text)
        return
    failed = sorted({name for name, problem, _ in cases if problem is not None})
    # A busy machine breaks a test now and then. What fails is run once more, alone, and said; what fails twice has failed.
    again = {}
    if 0 < len(failed) <= 5:
        again = {name: problem for name, problem, _ in run_pytest(slug + "-again", folder, full, *failed)[2] or []}
    for name, problem, skipped in cases:
        if skipped is not None:
            t.skip(name, skipped)
        elif problem is not None and name in again and again[name] is None:
            say(f"  {name} passed only at the second try:\n{indent(problem, 12)}")
            t.check(name, True)
        else:
            t.check(name, problem is None, problem or "")


def part_e2e(t):
    """the real daemon, sanitized, driven by Python and by Go"""
    if not build("dev", t):
        return
    pytest(t, "tests/e2e", {"TRAINERD_BIN": str(ROOT / "build" / "dev" / "bin")})
    if (ROOT / "tests" / "go").is_dir():
        part_go(t)


def part_go(t):
    if not shutil.which("go"):
        t.skip("tests/go", "go is not installed")
        return
    env = dict(os.environ, TRAINERD_BIN=str(ROOT / "build" / "dev" / "bin"), GOFLAGS="-mod=mod")
    status, text = run(["go", "test", "-count=1", "-json", "./..."], "go", cwd=ROOT / "tests" / "go", env=env)
    seen = False
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if event.get("Test") and event["Action"] in ("pass", "fail", "skip"):
            seen = True
            if event["Action"] == "skip":
                t.skip("go " + event["Test"], "see build/test/go.log")
            else:
                t.check("go " + event["Test"], event["Action"] == "pass", text if event["Action"] == "fail" else "")
    t.check("go test", status == 0 and seen, text)


def part_cases(t):
    """tests/cases: the real-world cases by their ids"""
    if build("dev", t):
        pytest(t, "tests/cases", {"TRAINERD_BIN": str(ROOT / "build" / "dev" / "bin")})


def part_examples(t):
    """every example, run by a release daemon"""
    if build("release", t):
        pytest(t, "tests/examples", {"TRAINERD_BIN": str(ROOT / "build" / "release" / "bin")})


def part_stress(t):
    """thread sanitizer: plain stress programs, and the daemon under load"""
    if not build("tsan", t):
        return
    env = dict(os.environ, TSAN_OPTIONS="ignore_noninstrumented_modules=1:exitcode=66")
    for program in sorted((ROOT / "build" / "tsan" / "stress").glob("stress_*")):
        try:
            status, text = run([str(program)], program.name, env=env, timeout=300)
        except subprocess.TimeoutExpired:
            status, text = 1, "took longer than 300 s"
        t.check(program.name, status == 0, text)
    pytest(t, "tests/stress", {"TRAINERD_BIN": str(ROOT / "build" / "tsan" / "bin")})


def part_cluster(t):
    """a real Kubernetes with the training operator on this machine; needs root and Go"""
    bed = [sys.executable, "tests/cluster/bed.py"]
    status, lacks = run([*bed, "check"], "bed-check", cwd=ROOT)
    if status != 0 and "Traceback" not in lacks:
        t.skip("tests/cluster", "missing: " + "; ".join(lacks.strip().splitlines()))
        return
    if not build("dev", t):
        return
    # One that is up already belongs to somebody, and stays up.
    found_up = run([*bed, "status"], "bed-status", cwd=ROOT)[0] == 0
    # Not into a log: a cold build takes many minutes, and says how far it is.
    up = subprocess.run([*bed, "up", "--seconds", str(BED_SECONDS)], cwd=ROOT, stdin=subprocess.DEVNULL).returncode == 0
    t.check("the bed comes up", up)
    if up:
        pytest(t, "tests/cluster", {"TRAINERD_BIN": str(ROOT / "build" / "dev" / "bin")})
    if not found_up:
        t.check("the bed goes down", subprocess.run([*bed, "down"], cwd=ROOT, stdin=subprocess.DEVNULL).returncode == 0)


def part_crash(t):
    """kill -9 at random points under load, against a client's ledger"""
    if build("release", t):
        pytest(t, "tests/crash", {"TRAINERD_BIN": str(ROOT / "build" / "release" / "bin")})


def part_fuzz(t):
    """each fuzzer for TRAINERD_FUZZ_SECONDS (60)"""
    if not build("fuzz", t):
        return
    programs = sorted((ROOT / "build" / "fuzz" / "fuzz").glob("fuzz_*"))

    def one(program):
        name = program.name
        work = LOGS / "corpus" / name
        work.mkdir(parents=True, exist_ok=True)
        seeds = ROOT / "tests" / "fuzz" / "corpus" / name.removeprefix("fuzz_")
        command = [str(program), f"-max_total_time={FUZZ_SECONDS}", "-rss_limit_mb=2048", "-timeout=10", "-print_final_stats=1", f"-artifact_prefix={LOGS}/{name}-", str(work)]
        if seeds.is_dir():
            command.append(str(seeds))
        try:
            status, text = run(command, name, timeout=FUZZ_SECONDS + 120)
        except subprocess.TimeoutExpired:
            status, text = 1, "does not end"
        return name, status, text

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for name, status, text in pool.map(one, programs):
            runs = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
            t.check(name, status == 0 and runs is not None, text)
            if runs:
                say(f"  {name}: {int(runs.group(1)):,} runs")
    t.check("there are fuzzers", bool(programs))


def part_quickstart(t):
    """the README's first command, as it is"""
    status, text = run(["tools/quickstart"], "quickstart", cwd=ROOT, timeout=1800)
    t.check("tools/quickstart", status == 0 and "SUCCEEDED" in text, text)


PARTS = {
    "house": part_house,
    "unit": part_unit,
    "e2e": part_e2e,
    "cases": part_cases,
    "examples": part_examples,
    "quickstart": part_quickstart,
    "cluster": part_cluster,
    "crash": part_crash,
    "stress": part_stress,
    "clang": part_clang,
    "fuzz": part_fuzz,
}


def main():
    parser = argparse.ArgumentParser(prog="tools/test", description="Runs the tests; without names, all parts.")
    parser.add_argument("parts", nargs="*", metavar="PART", help="; ".join(f"{k}: {v.__doc__}" for k, v in PARTS.items() if v.__doc__))
    names = parser.parse_args().parts
    wrong = [n for n in names if n not in PARTS]
    if wrong:
        parser.error(f"unknown part {wrong[0]} (there are: {', '.join(PARTS)})")
    total = Tally()
    for name in names or PARTS:
        start = time.monotonic()
        say(f"== {name}: {PARTS[name].__doc__}")
        t = Tally()
        try:
            PARTS[name](t)
        except Exception as e:  # a part that breaks is a failure, not the end of the others
            t.check(f"part {name}", False, f"{type(e).__name__}: {e}")
        say(f"   {name} took {time.monotonic() - start:.0f} s: {t.passed} ok, {t.failed} bad, {t.skipped} left out")
        total.add(t)
    say("")
    say(str(total))
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
