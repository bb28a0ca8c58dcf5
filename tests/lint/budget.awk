# budget.awk - how long and how branched the code may be.
#
#   awk -f tests/lint/budget.awk FILE.c FILE.h ...
#
# A function: 60 lines between its braces, 6 parameters, complexity 15 (1, and 1
# for each if, for, while, case, ?, && and ||; a switch that only names things
# counts as one). A file: 800 lines, a header 150. Functions are found by the
# braces in the first column that .clang-format makes.
BEGIN {
	LINES = 60
	PARAMETERS = 6
	COMPLEXITY = 15
	FILE = 800
	HEADER = 150
	# except["file:function"] = why it may be more
	except["core/net/h2.c:on_header"] = except["core/net/h2.c:frame_size"] = \
		except["core/net/h2.c:read_body"] = "a callback of nghttp2"
}
FNR == 1 {
	if (file != "")
		end_file()
	file = FILENAME
	inside = 0
	head = ""
}
{ length_of_file = FNR }
inside && /^}/ {
	end_function()
	inside = 0
	head = ""
	next
}
inside {
	measure($0)
	next
}
/^{$/ && head ~ /\)[ \t]*$/ && head !~ /^(struct|enum|union|static const|#|extern)[^(]*=/ {
	inside = 1
	start = FNR
	branches = cases = switches = 0
	next
}
/^[a-zA-Z_]/ { head = $0; next }
/^[ \t]/ { head = head $0; next }
{ head = "" }

function measure(line,   n) {
	gsub(/\\"|\\'/, "", line)
	gsub(/"[^"]*"/, "", line)
	gsub(/'[^']*'/, "", line)
	sub(/\/\*.*/, "", line)
	n = line
	branches += gsub(/(^|[^a-zA-Z_])(if|for|while|json_each|map_each) ?\(/, "", n)
	branches += gsub(/&&|\|\|/, "", n)
	branches += gsub(/\?/, "", n)
	cases += gsub(/(^|[^a-zA-Z_])case /, "", n)
	switches += gsub(/(^|[^a-zA-Z_])switch \(/, "", n)
}
function end_function(   name, n, complexity) {
	name = head
	sub(/\(.*/, "", name)
	sub(/.*[ *]/, "", name)
	if ((file ":" name) in except)
		return
	n = FNR - start - 1
	if (n > LINES)
		bad(start, name "() has " n " lines, more than " LINES)
	n = parameters(head)
	if (n > PARAMETERS)
		bad(start, name "() has " n " parameters, more than " PARAMETERS)
	complexity = 1 + branches + (switches && !branches ? switches : cases)
	if (complexity > COMPLEXITY)
		bad(start, name "() has a complexity of " complexity ", more than " COMPLEXITY)
}
function parameters(text,   depth, i, c, n) {
	sub(/^[^(]*\(/, "", text)
	n = text ~ /^(void)?\)/ ? 0 : 1
	for (i = 1; i <= length(text); i++) {
		c = substr(text, i, 1)
		depth += (c == "(" || c == "[") - (c == ")" || c == "]")
		n += c == "," && depth == 0
	}
	return n
}
function end_file(   limit) {
	limit = file ~ /\.h$/ ? HEADER : FILE
	if (length_of_file > limit && !(file in except))
		bad(length_of_file, "longer than " limit " lines")
}
function bad(line, what) {
	printf "%s:%d: %s\n", file, line, what
	failed = 1
}
END {
	end_file()
	exit failed
}
