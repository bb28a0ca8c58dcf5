#!/bin/bash
# Packages that a job installs stay in its pods: the Python environment of whoever runs it is the
# same afterwards.
# before: tests/cluster/programs.sh
# shellcheck disable=SC1091,SC2016,SC2154 # what the pods expand; lib.sh
. "$(dirname "$0")/lib.sh"
sdk=$(tests/cluster/sdk.sh 2>"$scratch/sdk") || sdk=
at_exit 'umount "$scratch/over/state" 2>/dev/null'
chmod 755 "$scratch"
export HOME=$scratch/home PIP_NO_INDEX=1 PIP_FIND_LINKS=$scratch/wheels PIP_DISABLE_PIP_VERSION_CHECK=1
export PIP_BREAK_SYSTEM_PACKAGES=1 PATH=/usr/bin:/bin
mkdir -p "$HOME" "$PIP_FIND_LINKS"

# A wheel is an archive: one of a package that nobody has.
python3 - "$PIP_FIND_LINKS/tinypackage-1.0-py3-none-any.whl" <<'END'
import sys, zipfile
info = "tinypackage-1.0.dist-info/"
files = {"tinypackage.py": "", info + "METADATA": "Metadata-Version: 2.1\nName: tinypackage\nVersion: 1.0\n",
         info + "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
files[info + "RECORD"] = "".join(f"{name},,\n" for name in [*files, info + "RECORD"])
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    for name, text in files.items():
        wheel.writestr(name, text)
END
venv=$scratch/venv,of:none # characters that overlayfs gives a meaning
venv=${venv/:/-}
python3 -m venv "$venv"

digest() { (cd "$1" && find . -printf '%P %m %s\n' -type f -exec sha256sum {} + | sort | sha256sum); }
submit() { # NAME COMMAND: one pod, in the environment
	run "$kftrainer" submit --local --venv "$venv" --runtime torch-distributed --name "$1" -- sh -c "$2"
}
unchanged() { # DIRECTORY: as `before` has it
	[ "$(digest "$1")" = "$before" ]
}
before=$(digest "$venv")
submit changes 'python -m pip install -q tinypackage && pip uninstall -q -y setuptools && python -c "
import importlib.util as u
print(u.find_spec(\"tinypackage\").origin, u.find_spec(\"setuptools\"))"'
ok "a package is installed, and one removed, where the pod looks for them" \
	eval "exits 0 && printed '$venv/lib/python3.[0-9]*/site-packages/tinypackage.py None\$'"
ok "... the environment is unchanged" unchanged "$venv"
ok "... and nothing of it is left of the pod" eval '! find "$XDG_STATE_HOME" -name "packages-*" | grep .'
submit plain 'grep -c " $VIRTUAL_ENV overlay " /proc/self/mounts'
ok "a command that installs nothing has the environment itself" printed '^\[node-0\] 0$'

for release in 0.2.1 0.5.0; do
	script=$("${sdk:-/nonexistent}/$release/bin/python" -c '
from kubeflow.trainer.backends.kubernetes import utils
print(utils.get_script_for_python_packages(["tinypackage"], ["http://127.0.0.1:1"]))')
	run env -C "$scratch" "$kftrainer" submit --local --venv "$venv" --runtime torch-distributed --name sdk -- bash -c "$script
python -c 'import tinypackage; print(\"imported\")'"
	ok "packages_to_install of the SDK $release" eval '[ -n "$script" ] && exits 0 && printed imported && unchanged "$venv"'
done

KFTRAINER_ISOLATION=none submit none 'python -m pip install -q tinypackage && python -c "import tinypackage; print(tinypackage.__file__)"'
ok "without namespaces: in the pod's directory" eval 'exits 0 && printed "/packages-node/tinypackage.py$" && unchanged "$venv"'

before=$(digest "$HOME")
run "$kftrainer" submit --local --runtime torch-distributed --name user -- sh -c \
	'python3 -m pip install -q --user tinypackage && python3 -c "import tinypackage; print(\"imported\")"'
ok "packages of the user, who has none" eval 'exits 0 && printed imported && unchanged "$HOME"'
user_site=$(python3 -c 'import site; print(site.getusersitepackages())')
mkdir -p "$user_site"
touch "$user_site/ownpackage.py"
before=$(digest "$user_site")
run "$kftrainer" submit --local --runtime torch-distributed --name user -- sh -c \
	'python3 -m pip install -q --user tinypackage && python3 -c "import tinypackage, ownpackage; print(\"imported\")"'
ok "... who has some, but no scripts" eval 'exits 0 && printed imported && unchanged "$user_site"'
mkdir -p "$HOME/.local/bin" "$(python3 -c 'import site; print(site.getusersitepackages())')"
before=$(digest "$HOME")
run "$kftrainer" submit --local --runtime torch-distributed --name user -- sh -c \
	'python3 -m pip install -q --user tinypackage && python3 -c "import tinypackage; print(tinypackage.__file__)"'
ok "... who has some" eval 'exits 0 && printed "$HOME/.local/.*/tinypackage.py$" && unchanged "$HOME"'

if [ "$(id -u)" = 0 ]; then
	before=$(digest "$venv")
	mkdir -p "$scratch"/over/{lower,upper,work,state}
	mount -t overlay overlay -o "lowerdir=$scratch/over/lower,upperdir=$scratch/over/upper,workdir=$scratch/over/work" "$scratch/over/state"
	XDG_STATE_HOME=$scratch/over/state submit over 'pip install -q tinypackage && python -c "import tinypackage; print(\"imported\")"'
	ok "a state directory that cannot hold changes" eval 'exits 0 && printed imported && unchanged "$venv"'
	umount "$scratch/over/state"
	chown -R 65534:65534 "$venv" "$HOME"
	mkdir -m 700 "$scratch/nobody"
	chown 65534:65534 "$scratch/nobody"
	XDG_STATE_HOME=$scratch/nobody run setpriv --reuid 65534 --regid 65534 --clear-groups "$kftrainer" submit --local \
		--venv "$venv" --runtime torch-distributed --name nobody -- sh -c \
		'pip install -q tinypackage && pip uninstall -q -y setuptools && python -c "import tinypackage; print(\"imported\")"'
	ok "an ordinary user" eval 'exits 0 && printed imported && unchanged "$venv"'
	ok "... has nothing left of the pod" eval '! find "$scratch/nobody" -name "packages-*" | grep .'
fi
finish
