#!/bin/bash
# `submit --workspace` without a cluster: what is packed, what is refused, how it runs here;
# `runtime unpack-workspace`.
. "$(dirname "$0")/lib.sh"
umask 022
code=$scratch/code
mkdir -p "$code/lib" "$code/.git" "$scratch/empty"
printf 'print("hello")\n' >"$code/train.py"
printf '#!/bin/sh\npwd; cat words; echo "$JOB_COMPLETION_INDEX" >>words; sleep 0.3; cat words\n' >"$code/run.sh"
# shellcheck disable=SC2016
printf '$HOME `id` "x"\r\nlast' >"$code/words"
ln -s ../words "$code/lib/link"
echo x >"$code/.git/HEAD"
chmod 755 "$code/run.sh"
runtime="--runtime torch-distributed"

# shellcheck disable=SC2086 # $runtime is words
dry() { run submit --dry-run=client -o json $runtime --workspace "$@" -- ./run.sh && [ "$status" = 0 ] || dump; }
of_archive() { # FILE: what the dry run's ConfigMap has
	python3 -c 'import base64, json, sys
for o in json.load(open(sys.argv[1]))["items"]:
    if o["kind"] == "ConfigMap":
        sys.stdout.buffer.write(base64.b64decode(o["binaryData"]["workspace.tar.zst"]))' "$scratch/out" >"$1"
}

# ---- the archive ---------------------------------------------------------------------------------
check "a dry run shows the ConfigMap" dry "$code"
of_archive "$scratch/one"
digest=$(sha256sum <"$scratch/one" | cut -c 1-64)
check "... whose bytes the name and the arguments name" eval \
	'grep -q -e "-workspace-${digest:0:12}" "$scratch/out" && grep -q "\"$digest\"" "$scratch/out"'
check "the line about it has counts and sizes" grep -Eq '^workspace .*: 5 files and directories, [0-9]+ B; packed [0-9]+ B$' "$scratch/err"
# Of zstd's release in vendor/lock, wherever it runs.
check "these bytes, on any machine" eval '[ "$digest" = 5a99a4b706757abcbcde9bc89df953cb1ed19992e59a0cf3008d9dac6c6bb277 ] || { echo "$digest"; false; }'
cp -r --no-preserve=all "$code" "$scratch/copy"
chmod 711 "$scratch/copy/run.sh"
rm "$scratch/copy/lib/link"
ln -s ../words "$scratch/copy/lib/link"
touch -d 2001-01-01 "$scratch/copy/train.py"
check "a copy of other times and modes gives the same" eval 'dry "$scratch/copy" && of_archive "$scratch/two" && cmp "$scratch/one" "$scratch/two"'
chmod 755 "$scratch/copy/train.py"
check "... one that may be executed does not" eval 'dry "$scratch/copy" && of_archive "$scratch/two" && ! cmp -s "$scratch/one" "$scratch/two"'
if command -v zstd >/dev/null; then
	check "tar and zstd read it" eval 'zstd -dcq "$scratch/one" | tar -tv >"$scratch/list"'
	check "... no owner, no time" eval '! grep -v "^.[-rwx]* 0/0 *[0-9]* 1970-01-01 00:00" "$scratch/list"'
fi

# ---- and back ------------------------------------------------------------------------------------
unpack() { says "$1" "$2" runtime unpack-workspace --from "$scratch/one" --to "$scratch/to" --sha256 "$3"; }
check "it is unpacked" unpack 0 '^workspace: unpacked 5 files and directories' "$digest"
same() { diff -r --no-dereference -x .git -x .kftrainer-workspace "$code" "$scratch/to"; }
check "... the same files" same
check "... which everything in the pod may write" eval '[ "$(stat -c %a "$scratch/to/words" "$scratch/to/run.sh" "$scratch/to/lib" | xargs)" = "666 777 777" ]'
if strace -o /dev/null true 2>/dev/null; then
	strace -o "$scratch/trace" -e trace=syncfs,write "$kftrainer" runtime unpack-workspace --from "$scratch/one" \
		--to "$scratch/synced" --sha256 "$digest" >/dev/null
	check "... on disk, before the marker says so" eval '[ "$(grep -Eo "^syncfs|.unpacked " "$scratch/trace" | tr -d "\"\n")" = "syncfsunpacked " ]'
	mkdir "$scratch/away"
	cp "$code/train.py" "$code/words" "$scratch/away"
	away() { # COMMAND...: the volume of a directory is away for a moment
		strace -f -P "$scratch/away" -o /dev/null -e inject=getdents64:error=ESTALE:when=2 "$kftrainer" "$@" 2>&1
	}
	# shellcheck disable=SC2086
	check "a directory that cannot be read to its end is not packed" eval \
		'! text=$(away submit --dry-run=client $runtime --workspace "$scratch/away" -- ./x) && [[ $text == *"$scratch/away: Stale file handle" ]] || { echo "$text"; false; }'
	cp "$code/train.py" "$scratch/away/x.yaml"
	check "... nor submitted" eval '! text=$(away submit --dry-run=client -f "$scratch/away") && [[ $text == *"$scratch/away: Stale file handle"* ]] || { echo "$text"; false; }'
fi
check "once more: it is up to date" unpack 0 'is up to date' "$digest"
check "another digest is refused" unpack 2 'not the one that was submitted' "${digest/[0-9]/a}"
mkdir "$scratch/mine"
touch "$scratch/mine/precious"
check "a directory that is not empty is not touched" says 1 'not empty' runtime unpack-workspace \
	--from "$scratch/one" --to "$scratch/mine" --sha256 "$digest"
check "... really" test -e "$scratch/mine/precious"
check "no digest: the command line is wrong" says 2 'sha256' runtime unpack-workspace --from a --to b
check "an invalid digest, too" says 2 'sha256' runtime unpack-workspace --from a --to b --sha256 12

# ---- what is refused -----------------------------------------------------------------------------
bad() { # LIKE ARGUMENT...
	local like=$1
	shift
	# shellcheck disable=SC2086
	refuses "$like" submit --dry-run=client $runtime "$@" -- true
}
check "a directory that does not exist" bad 'No such file' --workspace "$scratch/none"
check "a file instead of a directory" bad 'Not a directory' --workspace "$code/words"
check "an empty folder" bad 'no files to pack' --workspace "$scratch/empty"
ln -s /etc/passwd "$scratch/copy/outside"
check "a link that leads outside, with its name" bad 'copy/outside: .*/etc/passwd' --workspace "$scratch/copy"
rm "$scratch/copy/outside"
mkfifo "$scratch/copy/pipe"
check "a FIFO, with its name" bad 'copy/pipe: ' --workspace "$scratch/copy"
echo pipe >"$scratch/copy/.kftrainerignore"
check "... which can be excluded" dry "$scratch/copy"
head -c 1500000 /dev/urandom >"$scratch/copy/model.bin"
check "too large for a ConfigMap, with the largest files and what to do" bad 'model.bin 1.4 MiB, .*\.kftrainerignore.*--workspace-to' --workspace "$scratch/copy"
check "... in one line that says how much it may be" grep -q 'a ConfigMap holds 1048576' "$scratch/err"
echo '*.bin' >>"$scratch/copy/.kftrainerignore"
check "... which can be excluded, too" dry "$scratch/copy"
check "an invalid place" bad "want s3:// or hf://" --workspace "$code" --workspace-to ftp://x/y
check "a Secret without a place" bad '--workspace-secret requires --workspace-to' --workspace "$code" --workspace-secret x
check "a place without a folder" bad '--workspace-to requires --workspace' --workspace-to s3://b/p

# ---- what is left out ----------------------------------------------------------------------------
repo=$scratch/repo
w=$repo/job
mkdir -p "$repo/.git/info" "$w/src/.git" "$w/out" "$w/.ssh" "$w/certs" "$w/logs"
printf '*.log\n/job/out/\n!.env\n!id_rsa\n' >"$repo/.gitignore"
printf '/job/mine\n!*.log\n' >"$repo/.git/info/exclude"
printf 'cache/\n!important.log\n' >"$w/src/.gitignore"
printf '!src/kept.log\nlogs/\n' >"$w/.kftrainerignore"
mkdir "$w/src/cache"
for f in .env .env.local .env.example .netrc id_rsa certs/tls.key certs/ca.pem .ssh/config .ssh/id_ed25519 train.py \
	src/.git/HEAD src/cache/x src/a.log src/kept.log src/important.log out/model logs/l prod.env .ssh/known_hosts mine; do
	echo "secret of $f" >"$w/$f"
done
packed() { # what the archive of the last dry run has, a line a path
	of_archive "$scratch/one" && rm -rf "$scratch/seen" && "$kftrainer" runtime unpack-workspace --from "$scratch/one" \
		--to "$scratch/seen" --sha256 "$(sha256sum <"$scratch/one" | cut -c 1-64)" >/dev/null &&
		(cd "$scratch/seen" && find . -type f ! -name .kftrainer-workspace -printf '%P\n' | sort | xargs)
}
check "a workspace with keys in it" dry "$w"
check "... leaves out .env, .netrc, .git, keys and what .gitignore names" eval \
	'seen=$(packed); [ "$seen" = ".env.example .kftrainerignore src/.gitignore src/important.log src/kept.log train.py" ] || { echo "$seen"; false; }'
check "... lists keys and passwords" grep -Fqx 'excluded by name (--include PATH adds one): .env, .env.local, .netrc, .ssh/, certs/ca.pem, certs/tls.key, id_rsa, prod.env, src/.git/' "$scratch/err"
check "... and what .gitignore names" grep -Fqx 'excluded by .gitignore: mine, out/, src/a.log, src/cache/' "$scratch/err"
check "... and .kftrainerignore" grep -Fqx 'excluded by .kftrainerignore: logs/' "$scratch/err"
check "--include adds files again" dry "$w" --include .env --include ./certs//ca.pem --include .ssh/config --include out
check "... those, and nothing beside them" eval \
	'seen=$(packed); [ "$seen" = ".env .env.example .kftrainerignore .ssh/config certs/ca.pem out/model src/.gitignore src/important.log src/kept.log train.py" ] || { echo "$seen"; false; }'
check "... and .git" eval 'dry "$w" --include src/.git && packed | grep -q src/.git/HEAD'
tools=$scratch/tools
mkdir -p "$tools/.kaggle" "$tools/.cache/huggingface" "$tools/.config/gcloud" "$tools/.streamlit"
for f in .boto .s3cfg .my.cnf .databrickscfg .kaggle/kaggle.json kaggle.json .cache/huggingface/token .config/gcloud/x \
	service-account-dev.json service_account.json client_secret_1.json .streamlit/secrets.toml kubeconfig.yaml \
	terraform.tfstate token tokenizer.json account.json .streamlit/config.toml; do
	echo "of $f" >"$tools/$f"
done
check "files that cloud, hub and tracker tools keep their keys in" dry "$tools"
check "... are left out, but not those of nearly their names" eval \
	'seen=$(packed); [ "$seen" = ".streamlit/config.toml account.json token tokenizer.json" ] || { echo "$seen"; false; }'
check "--include of a file that does not exist" bad '--include nope: no such file in .*/job; pass its path relative' --workspace "$w" --include nope
check "... of files outside" bad '--include ../.gitignore: expected a path' --workspace "$w" --include ../.gitignore
check "--include without a folder" bad '--include requires --workspace' --include x
check "a folder that its repository ignores is no part of it" eval 'dry "$w/out" && [ "$(packed)" = model ]'
echo '*' >"$repo/.gitignore"
check "... in a repository that ignores everything, too" eval 'dry "$w" && packed | grep -q train.py'
# An ordinary environment: links that lead out of it, thousands of files.
mkdir -p "$w/data"
/usr/bin/python3 -m venv --without-pip "$w/.venv"
mkdir -p "$w/conda/conda-meta" "$w/src/__pycache__" "$w/src/.ipynb_checkpoints" "$w/.mypy_cache" "$w/wandb/run-1"
for d in conda src/__pycache__ src/.ipynb_checkpoints .mypy_cache wandb/run-1; do echo x >"$w/$d/file"; done
ln -s .venv "$w/env"
: >"$repo/.gitignore"
check "environments and caches are left out" eval 'dry "$w" && ! packed | grep -qE "venv|conda|cache|check|wandb|env/"'
check "... and listed" grep -Fqx 'excluded environments and caches (--include PATH adds one): .mypy_cache/, .venv/, conda/, env, src/.ipynb_checkpoints/, src/__pycache__/, wandb/' "$scratch/err"
check "... --include adds one" eval 'dry "$w" --include wandb && packed | grep -q wandb/run-1/file'
cp "$w/.kftrainerignore" "$scratch/ignore"
echo '!wandb/' >>"$w/.kftrainerignore"
check "... and so does .kftrainerignore" eval 'dry "$w" && packed | grep -q wandb/run-1/file'
mv "$scratch/ignore" "$w/.kftrainerignore"
ln -s /usr/share "$w/data/set"
check "a linked directory of data: what to do" bad 'data/set: symbolic link to /usr/share may leave the directory; copy the files in its place, or list it in \.kftrainerignore and let pods mount' --workspace "$w"
rm "$w/data/set"
mkdir "$scratch/onlykeys"
echo x >"$scratch/onlykeys/.env"
check "nothing but keys: one line says so" bad 'no files to pack: all are excluded \(.env' --workspace "$scratch/onlykeys"
for i in $(seq 25); do echo x >"$w/$i.key"; done
check "a long list is cut, and counted" eval 'dry "$w" && grep -q "and [0-9]* more$" "$scratch/err"'

# ---- on this machine -----------------------------------------------------------------------------
# shellcheck disable=SC2086
here() { KFTRAINER_ISOLATION=$1 run submit --local -q $runtime --name "$2" --nodes 2 --workspace "$code" -- ./run.sh && [ "$status" = 0 ] || dump; }
check "a job runs in it" here '' here
check "... on each node" eval '[ "$(grep -c "/mnt/workspace$" "$scratch/out")" = 2 ]'
# shellcheck disable=SC2016
check "... with the bytes that exist" grep -Fq '$HOME `id` "x"' "$scratch/out"
check "... each in a copy of its own" eval '! grep -q "last0.*1\|last1.*0" "$scratch/out"'
check "the folder itself stays as it is" eval '! grep -q "^last." "$code/words"'
check "where nothing can be mounted it runs, too" here none plain
check "--keep is for clusters" says 2 'needs a cluster' submit --local $runtime --workspace "$code" --keep -- true
mkdir "$scratch/tmp"
# shellcheck disable=SC2086
check "nothing is left in the folder for temporary files" eval 'TMPDIR=$scratch/tmp dry "$code" && [ -z "$(ls -A "$scratch/tmp")" ]'
finish
