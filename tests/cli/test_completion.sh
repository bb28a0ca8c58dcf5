#!/bin/bash
# The completion scripts are scripts of their shells; bash's answers are right.
. "$(dirname "$0")/lib.sh"
for shell in bash zsh fish; do
	run completion $shell
	cp "$scratch/out" "$scratch/script.$shell"
	check "$shell reads it" $shell -n "$scratch/script.$shell"
done
mkdir "$scratch/bin"
ln -s "$kftrainer" "$scratch/bin/kftrainer"
export PATH=$scratch/bin:$PATH

# completes WANT WORD...: what bash offers at the end of this line has the words WANT.
completes() {
	local want=$1
	shift
	bash -c 'source "$1"; shift
		COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE=$*; COMP_POINT=${#COMP_LINE}
		compopt() { :; }
		_kftrainer; echo " ${COMPREPLY[*]} "' - "$scratch/script.bash" "$@" >"$scratch/out" 2>&1
	for word in $want; do
		grep -q -e " $word " "$scratch/out" || { cat "$scratch/out"; return 1; }
	done
}
offers_only() { completes "$@" && [ "$(wc -w <"$scratch/out")" = "$(wc -w <<<"$1")" ]; }

check "commands" completes 'submit runtime logs get version' kftrainer ''
check "the one command that begins so" offers_only submit kftrainer sub
check "commands below a command" offers_only 'get list render supervise validate' kftrainer runtime ''
check "options" completes '--local --dry-run --runtime-file --help' kftrainer submit --
check "options of a command below another" completes '--runtime-file --output' kftrainer runtime list -
check "the words an option takes" offers_only 'yaml json table name' kftrainer submit -o ''
check "... behind an equals sign" offers_only 'client' kftrainer submit --dry-run = c
check "runtimes" completes 'torch-distributed jax-distributed' kftrainer submit --runtime ''
check "runtimes as an argument" offers_only 'torch-distributed torch-distributed-with-cache torch-distributed-with-cache-jobs' kftrainer runtime get torch-d
export HOME=$scratch/home KUBECONFIG=
unset KUBERNETES_SERVICE_HOST
"$kftrainer" submit --local -q --runtime torch-distributed --name seven -- true
for command in delete get events logs resume suspend wait why; do
	check "jobs: $command" offers_only seven kftrainer $command ''
done
"$kftrainer" submit --local -q --runtime torch-distributed --name eight -n other -- true
check "jobs of the namespace that the line names" offers_only eight kftrainer logs -n other ''
check "... in another form" offers_only eight kftrainer logs --namespace = other ''
printf '%s\n' 'apiVersion: v1' 'kind: Config' 'current-context: c' 'contexts: [{name: c, context: {cluster: c, user: u}}]' \
	'clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]' 'users: [{name: u, user: {}}]' >"$scratch/kubeconfig"
check "... of the cluster that it names, not of this machine" offers_only '' kftrainer logs --kubeconfig "$scratch/kubeconfig" ''
check "... with --local of this machine" offers_only seven kftrainer logs --local ''
check "a cluster that does not answer: the runtimes that are known" \
	completes torch-distributed kftrainer submit --kubeconfig "$scratch/kubeconfig" --runtime ''
run runtime list --kubeconfig "$scratch/kubeconfig"
# shellcheck disable=SC2016
check "... and runtime list says that it does not" eval '[ "$status" = 1 ] && grep -q "^torch-distributed .*built-in$" "$scratch/out" && grep -q "127.0.0.1:1" "$scratch/err"'
check "runtime get fails there, if it is to ask" says 1 '127.0.0.1:1' runtime get torch-distributed --kubeconfig "$scratch/kubeconfig"
check "... and --local does not" says 0 '^kind: ClusterTrainingRuntime$' runtime get torch-distributed --local
check "shells" offers_only 'bash zsh fish' kftrainer completion ''
check "commands behind help" offers_only 'runtime' kftrainer help runt
check "nothing of ours behind --" offers_only '' kftrainer submit --runtime x -- p
check "which shell" refuses 'bash, zsh or fish' completion tcsh

# fish answers without a terminal; zsh only with one, so its script is loaded, not asked.
fish_completes() { # WANT LINE
	fish --no-config -c "source $scratch/script.fish; complete -C '$2'" >"$scratch/out" 2>&1
	for word in $1; do
		grep -q -e "^$word\>" "$scratch/out" || { cat "$scratch/out"; return 1; }
	done
}
check "fish: commands" fish_completes 'submit runtime' 'kftrainer '
check "fish: commands below a command" fish_completes 'list render' 'kftrainer runtime '
check "fish: options" fish_completes '--local --runtime-file' 'kftrainer submit --'
check "fish: runtimes" fish_completes 'torch-distributed' 'kftrainer runtime get '
check "fish: jobs" fish_completes 'seven' 'kftrainer why '
check "fish: jobs of the namespace that the line names" fish_completes 'eight' 'kftrainer why -n other '
check "fish: the words an option takes" fish_completes 'yaml json' 'kftrainer submit -o '
check "zsh: loads" zsh -f -c "autoload -U compinit && compinit -D -d $scratch/dump && . $scratch/script.zsh &&
	[[ \${_comps[kftrainer]} == _kftrainer ]]"
# shellcheck disable=SC2016 # it is zsh that reads it
check "zsh: jobs" zsh -f -c 'words=$(grep -m 1 -o ":job:(.*)" "$1") && eval "set -- ${${words#*\(}%\)}" && [[ $* == seven ]]' - "$scratch/script.zsh"
# shellcheck disable=SC2016
check "zsh: jobs of the namespace that the line names" zsh -f -c 'where_=(-n other)
	words=$(grep -m 1 -o ":job:(.*)" "$1") && eval "set -- ${${words#*\(}%\)}" && [[ $* == eight ]]' - "$scratch/script.zsh"
# shellcheck disable=SC2016
check "zsh: its description" zsh -f -c 'compdef() { :; }; _arguments() { print -r -- $where_; }
	. "$1"; words=(kftrainer logs -n other --local --context=c x); CURRENT=7; [[ "$(_kftrainer)" == "-n other --local --context=c" ]]' - "$scratch/script.zsh"
finish
