"""TAP for tests in Python, as tests/run.sh reads it: check(), skip(), finish()."""
import os
import sys

PREFIX = os.environ.get("TAP_PREFIX", "")
tests = failures = 0


def check(what, problem):
    """One test: passed if there is no problem to report."""
    global tests, failures
    tests += 1
    print("not ok" if problem else "ok", tests, "-", PREFIX + what, flush=True)
    if problem:
        failures += 1
        print("\n".join("# " + line for line in str(problem).splitlines()[-100:]), flush=True)


def skip(what, why):
    global tests
    tests += 1
    print(f"ok {tests} - {PREFIX}{what} # SKIP {why}", flush=True)


def trust_nobody():
    """Removes what says whom this machine trusts from the environment: a test says it itself."""
    for name in [name for name in os.environ if name.startswith("SSL_CERT_") or name.endswith("_CA_BUNDLE")]:
        del os.environ[name]


def finish():
    """Print the plan and exit."""
    print(f"1..{tests}", flush=True)
    sys.exit(1 if failures else 0)
