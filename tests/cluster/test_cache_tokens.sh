#!/bin/bash
# The data cache with --token-review: tokens of real ServiceAccounts, which the API server judges.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
python=$(tests/setup.sh venv cache)/bin/python
"$python" - "$scratch/table.parquet" <<-'END'
	import sys, pyarrow as pa, pyarrow.parquet as pq
	pq.write_table(pa.table({"i": range(1000)}), sys.argv[1], row_group_size=100)
END
cluster_up
kc create namespace caches >/dev/null
kc create namespace others >/dev/null
kc create serviceaccount -n caches cache >/dev/null

token() { kc create token "$@" 2>&1; }      # ACCOUNT -n NAMESPACE [--audience A]
connect() { # FILE TOKEN: a kubeconfig of that token, as a pod of the namespace has one
	in_cluster kubectl config view --raw --minify --flatten |
		/usr/bin/python3 -c 'import sys, yaml
config = yaml.safe_load(sys.stdin)
config["users"][0]["user"] = {"token": sys.argv[1]}
config["contexts"][0]["context"]["namespace"] = "caches"
print(yaml.dump(config))' "$2" >"$1"
}
serve() { # NAME ROLE OPTION...: its port in $port; it ends with the test
	local name=$1 role=$2
	shift 2
	in_cluster env KUBECONFIG="$scratch/cache.kubeconfig" METADATA_LOC="$scratch/table.parquet" HEALTH_PORT=0 \
		"$kftrainer" cache-serve "$role" 127.0.0.1 0 --token-review "$@" 2>"$scratch/$name.log" &
	servers+=($!)
	wait_for 20 grep -q 'listening port=' "$scratch/$name.log" || return 1
	port=$(sed -n 's/.*listening port=\([0-9]*\).*/\1/p' "$scratch/$name.log")
}
cat_head() { # TOKEN: what it printed in $scratch/out
	local with=()
	if [ -n "$1" ]; then
		printf %s "$1" >"$scratch/token"
		with=(--token-file "$scratch/token")
	fi
	in_cluster "$kftrainer" cache-serve cat --count "${with[@]}" "grpc://127.0.0.1:$head" >"$scratch/out" 2>&1
}
reads() { cat_head "$1" && [ "$(cat "$scratch/out")" = 1000 ]; }
refused() { # WORDS TOKEN
	cat_head "$2"
	[ $? = 1 ] && cat "$scratch/out" && grep -q -e "$1" "$scratch/out"
}

servers=()
at_exit 'kill "${servers[@]}" 2>/dev/null; cluster_end'
wait_for 30 token default -n caches >/dev/null
wait_for 30 token default -n others >/dev/null
own=$(token cache -n caches --audience cache)
connect "$scratch/cache.kubeconfig" "$(token cache -n caches)"
printf %s "$own" >"$scratch/own"
check "a worker starts" serve worker worker --audience cache
worker=$port
check "a head starts" serve head head --audience cache --token-file "$scratch/own" --worker "127.0.0.1:$worker"
head=$port
check "without the right to review: which right is missing" refused 'may not create tokenreviews.authentication.k8s.io' "$own"
check "... and no token: the same as with it" refused 'a bearer token is required' ''
rights() { # of install: ClusterRole and ClusterRoleBinding
	"$kftrainer" install --runtime torch-distributed --cache-namespace caches --cache-token-review -o yaml |
		/usr/bin/python3 -c 'import sys, yaml
print(yaml.dump_all(d for d in yaml.safe_load_all(sys.stdin) if d["metadata"]["name"].endswith("-token-review")))' | kc apply -f -
}
check "the rights that install gives" rights
check "with it: the head reaches its worker" wait_for 30 grep -q 'INFO ready rows=1000' "$scratch/head.log"
good=$(token default -n caches --audience cache)
check "a ServiceAccount of the namespace reads" reads "$good"
check "... and reads again" reads "$good"
foreign=$(token default -n others --audience cache)
check "one of another namespace: its name, and who may" \
	refused 'system:serviceaccount:others:default is in none of the groups that can read: system:serviceaccounts:caches' "$foreign"
check "another audience" refused 'the bearer token is refused: .*audience' "$(token default -n caches)"
check "no token" refused 'a bearer token is required' ''
check "garbage" refused 'the bearer token is refused' garbage.of.bytes
check "a signature that is wrong" refused 'the bearer token is refused' "${good%????????}AAAAAAAA"
kc create serviceaccount -n caches gone >/dev/null
account=$(token gone -n caches --audience cache)
kc delete serviceaccount -n caches gone >/dev/null
forgotten() { # by the API server, which accepts what it has read before
	! kc create -o 'jsonpath={.status.authenticated}' -f - <<-END | grep true
		{apiVersion: authentication.k8s.io/v1, kind: TokenReview, spec: {token: $account, audiences: [cache]}}
	END
}
wait_for 30 forgotten
check "a ServiceAccount that is deleted" refused 'the bearer token is refused' "$account"

first=$head
check "a head for another group" serve group head --audience cache --group system:serviceaccounts:others --token-file "$scratch/own" \
	--worker "127.0.0.1:$worker"
head=$port
check "... is ready" wait_for 30 grep -q 'INFO ready rows=1000' "$scratch/group.log"
check "... refuses the others" refused 'in none of the groups that can read: system:serviceaccounts:others' "$good"
check "... and tells that group, which the worker refuses" refused "127.0.0.1:$worker: .*groups that can read: system:serviceaccounts:caches" "$foreign"

head=$first
check "a token that was reviewed" reads "$good"
code() { # TOKEN: the name of pyarrow's error
	in_cluster "$python" - "$head" "$1" <<-'END' 2>/dev/null
		import sys
		from pyarrow import flight
		try:
		    flight.FlightClient(f"grpc://127.0.0.1:{sys.argv[1]}").get_flight_info(flight.FlightDescriptor.for_path("0", "1"),
		        flight.FlightCallOptions(headers=[(b"authorization", b"Bearer " + sys.argv[2].encode())]))
		except flight.FlightError as e:
		    print(type(e).__name__)
	END
}
check "codes: not valid" [ "$(code garbage.of.bytes)" = FlightUnauthenticatedError ]
check "... not allowed" [ "$(code "$foreign")" = FlightUnauthorizedError ]
cluster stop kube-apiserver
check "the API server is away: why" refused 'the API server cannot review tokens' "${good%????????}BBBBBBBB"
check "... UNAVAILABLE" [ "$(code "${good%????????}CCCCCCCC")" = FlightUnavailableError ]
check "... what was accepted stays so" reads "$good"
kill "${servers[@]}"
wait "${servers[@]}"
secrets() { grep -h -F -e "$own" -e "$good" -e "$account" -e "$foreign" -e garbage.of "$scratch"/*.log; }
check "no token in the logs" eval '! secrets'
finish
