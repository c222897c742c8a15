# SPDX-License-Identifier: GPL-3.0-or-later
#
# awk -f proto-fields.awk FILE.proto: a C header with the numbers of its fields and enumerators
#
# Field clock_id of message Clock in message ClockSnapshot is CLOCK_SNAPSHOT__CLOCK__CLOCK_ID; an
# enumerator's constant begins with the name of the message around its enum. The file consists of
# messages, enums and their fields. Anything else ends the script with status 1, so that no number
# is left out.

function fail(text) {
	print FILENAME ": expected a field, an enumerator, a message or an enum: " text \
		>"/dev/stderr"
	failed = 1
	exit 1
}

# TracePacket -> TRACE_PACKET
function upper(name) {
	while (match(name, /[a-z0-9][A-Z]/))
		name = substr(name, 1, RSTART) "_" substr(name, RSTART + 1)
	return toupper(name)
}

# The names of the messages around this line, as the prefix of a constant.
function prefix(  i, text) {
	for (i = 1; i <= depth; i++)
		if (kind[i] == "message")
			text = text upper(name[i]) "__"
	return text
}

function number(word) {
	if (word !~ /^[0-9]+$/)
		fail(statement)
	return word
}

function statement_ends(  word, nr) {
	nr = split(statement, word, " ")
	if (!depth) {
		if (word[1] != "syntax" && word[1] != "package")
			fail(statement)
	} else if (kind[depth] == "enum") {
		if (nr != 3 || word[2] != "=")
			fail(statement)
		printf "\t%s%s = %s,\n", prefix(), toupper(word[1]), number(word[3])
	} else {
		if (nr != 5 || word[1] !~ /^(optional|repeated|required)$/ || word[4] != "=")
			fail(statement)
		printf "\t%s%s = %s,\n", prefix(), toupper(word[3]), number(word[5])
	}
}

function block_begins(  word, nr) {
	nr = split(statement, word, " ")
	if (nr != 2 || word[1] !~ /^(message|enum)$/)
		fail(statement)
	kind[++depth] = word[1]
	name[depth] = word[2]
}

BEGIN {
	print "/* Made by scripts/proto-fields.awk. */"
	print "enum {"
}

{
	sub(/\/\/.*/, "")
	text = text " " $0
}

END {
	if (failed)
		exit 1
	while (match(text, /[{};]/)) {
		statement = substr(text, 1, RSTART - 1)
		gsub(/^[ \t]+|[ \t]+$/, "", statement)
		mark = substr(text, RSTART, 1)
		text = substr(text, RSTART + 1)
		if (mark == "{") {
			block_begins()
		} else if (mark == ";") {
			statement_ends()
		} else {
			if (statement != "" || !depth)
				fail(statement "}")
			depth--
		}
	}
	if (depth || text !~ /^[ \t]*$/)
		fail("the end of the file")
	print "};"
}
