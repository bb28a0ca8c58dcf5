# subject.awk - comments that begin with a word whose noun the reader must guess (make comments).
#
#   awk -f tests/lint/subject.awk FILE.c FILE.h ...
#
# Prints each, then for each room: comments, those without a subject, and their share.
FNR == 1 {
	room = FILENAME
	sub(/^core\//, "", room)
	sub(/\/.*/, "", room)
	inside = 0
}
{
	line = $0
	while (match(line, /\/\*+[ \t]*/)) {
		text = substr(line, RSTART + RLENGTH)
		line = text
		if (sub(/\*\/.*/, "", text) && text ~ /^[- ]*$/)
			continue
		if (text == "") {
			pending = 1
			continue
		}
		judge(text)
	}
	if (pending && match($0, /^[ \t]*\*[ \t]+[^ \t]/)) {
		text = $0
		sub(/^[ \t]*\*[ \t]+/, "", text)
		judge(text)
	}
	if (pending && $0 !~ /\/\*+[ \t]*$/)
		pending = 0
}
function judge(text) {
	if (text ~ /^----/)
		return
	sub(/^[a-z_0-9]+\.[chS] - /, "", text)
	comments[room]++
	if (text !~ /^(Of|It|Its|That|These|Those|They|Their|What|Which|Who|Whose|Whoever|it|that|what|which|who|those|they) /)
		return
	vague[room]++
	print FILENAME ":" FNR ": " text
}
END {
	for (r in comments) {
		printf "%-10s %5d comments, %4d without a subject, %4.1f %%\n", r, comments[r], vague[r], 100 * vague[r] / comments[r] | "sort"
	}
}
