# prefix.awk - public functions whose names do not say where to look (make prefixes).
#
#   awk -f tests/lint/prefix.awk FILE...
#
# A function that a header declares begins with the room's name, the name of a file of the room
# (its first or last word is enough, in the singular or the plural), the tag of a struct or an
# enum in the room's headers (without _opts or _conf), or a word with which three functions of
# one header begin. Names of the field are exempt. Prints the others, then their number for
# each room.
BEGIN {
	n_known = split("xcalloc xreallocarray base64 base64url hex cond dir crc32c edit_fn", field, " ")
	for (i = 1; i <= n_known; i++)
		exempt[field[i]]
	for (i = 1; i < ARGC; i++) {
		at = place(ARGV[i])
		stem = ARGV[i]
		gsub(/.*\/|(_impl)?\.[chS]$/, "", stem)
		last = first = stem
		sub(/.*_/, "", last)
		sub(/_.*/, "", first)
		add(at, stem)
		add(at, last)
		add(at, first)
		sub(/.*\//, "", at)
		add(place(ARGV[i]), at)
	}
}
FNR == 1 {
	header = FILENAME ~ /\.h$/
	at = place(FILENAME)
	comment = depth = 0
	text = ""
}
!header { nextfile }
{
	line = $0
	gsub(/\/\*[^*]*\*\//, "", line)
	if (comment && !sub(/^.*\*\//, "", line))
		next
	comment = sub(/\/\*.*/, "", line)
	was = continued
	continued = line ~ /\\$/
	if (line ~ /^#/ || was)
		next
	if (line ~ /^\t*(struct|enum) [a-z0-9_]+( \{.*|;)$/) {
		split(line, word, /[ ;]/)
		sub(/_(opts|conf)$/, "", word[2])
		add(at, word[2])
	}
	if (!depth)
		text = text " " line
	depth += gsub(/\{/, "{", line) - gsub(/\}/, "}", line)
	if (!depth && line ~ /[;}][ \t]*$/) {
		gsub(/MUST_CHECK/, "", text)
		if (match(text, /[a-z0-9_]+\(/) && text !~ /^[^(]*[{=]/)
			declare(substr(text, RSTART, RLENGTH - 1))
		text = ""
	}
}
END {
	for (i = 1; i <= n; i++) {
		split(found[i], word, " ")
		at = place(found[i])
		all[at]++
		name = word[2]
		while (!((at, name) in known || name in exempt) && sub(/_?[^_]*$/, "", name) && name != "")
			;
		if (name != "")
			continue
		print found[i]
		bad[at]++
	}
	for (at in all)
		if (bad[at])
			printf "%s: %d of %d\n", at, bad[at], all[at]
}
function declare(name,   first) {
	found[++n] = FILENAME ":" FNR " " name
	first = name
	sub(/_.*/, "", first)
	if (first != name && ++begun[FILENAME, first] == 3)
		add(at, first)
}
function place(path) {
	sub(/\/[^\/]*$/, "", path)
	return path
}
function add(at, prefix) {
	known[at, prefix] = 1
	known[at, prefix "s"] = 1
	if (prefix ~ /s$/)
		known[at, substr(prefix, 1, length(prefix) - 1)] = 1
}
