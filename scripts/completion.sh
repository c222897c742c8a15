#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# completion.sh PROGRAM: prints bash's completion of PROGRAM's command line
#
# The options and the words that they take come from the program's own table: PROGRAM
# --list-options.
set -e
program=$(readlink -f "$1")
name=${program##*/}
# EMULATE= is an emulator, if the program is for another machine.
table=$($EMULATE "$program" --list-options)

# Lines "OPTION ARGUMENT [WORD...]", as in "--output FILE"; the ARGUMENT is "-" if the option
# takes none. If the argument may be left out, ARGUMENT is "-", too, but the WORDs are listed.
opts=$(echo "$table" | awk '$1 == "option" {
	words = ""
	for (i = 4; i <= NF; i++) words = words " " $i
	sub(/^ \[[^ ]*/, " -", words)
	sub(/[.][.][.]/, "", words)
	if ($2 != "-") print "--" $2 words
	if ($3 != "-") print "-" $3 words
}' | sort -u)
[ -n "$opts" ] || { echo "completion.sh: $program --list-options lists none" >&2; exit 1; }
words() {		# words KIND...: prints the options of these kinds
	for kind; do
		echo "$opts" | awk -v kind="$kind" '$2 == kind { print $1 }'
	done | tr '\n' '|' | sed 's/|$//'
}
commands=$(echo "$table" | awk '$1 == "command" { print $2 }' | tr '\n' ' ' | sed 's/ $//')

cat <<END
# bash completion of $name: made by scripts/completion.sh from $name --list-options
_$name() {
	local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} i
	COMPREPLY=()
	# readline makes three words of --option=value.
	if [[ \$cur == "=" ]]; then
		cur=
	elif [[ \$prev == "=" ]]; then
		prev=\${COMP_WORDS[COMP_CWORD-2]}
	fi
	case \$prev in
END
echo "$opts" | while read -r option kind values; do
	[ -z "$values" ] || printf '\t%s)\n\t\tmapfile -t COMPREPLY < <(%s)\n\t\treturn ;;\n' \
		"$option" 'compgen -P "${cur%"${cur##*,}"}" -W "'"$values"'" -- "${cur##*,}"'
done
for kind in FILE DIR DIRS 'PID[,PID]'; do
	list=$(words "$kind")
	[ -n "$list" ] || continue
	case $kind in
	FILE)	what='-f' ;;
	PID*)	what='-P "${cur%%"${cur##*,}"}" -W "$(cd /proc && echo [0-9]*)"' ;;
	*)	what='-d' ;;
	esac
	# shellcheck disable=SC2016
	printf '\t%s)\n\t\tmapfile -t COMPREPLY < <(compgen %s -- "%s")\n\t\treturn ;;\n' "$list" \
		"$what" "$(case $kind in PID*) echo '${cur##*,}' ;; *) echo '$cur' ;; esac)"
done
others=$(echo "$opts" | awk '$2 != "-" && $2 !~ /^(FILE|DIRS?|PID\[,PID\])$/ { print $1 }' |
	tr '\n' '|' | sed 's/|$//')
[ -z "$others" ] || printf '\t%s)\n\t\treturn ;;\n' "$others"
all=$(echo "$opts" | cut -d' ' -f1 | tr '\n' ' ')
cat <<END
	esac
	if [[ \$cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$all" -- "\$cur")
		return
	fi
END
if [ "$name" = xpuload ]; then
	takes=$(echo "$opts" | awk '$2 != "-" { print $1 }' | tr '\n' '|' | sed 's/|$//')
	cat <<END
	# After the COMMAND, the command's own completion follows.
	for ((i = 1; i < COMP_CWORD; i++)); do
		case \${COMP_WORDS[i]} in
		$takes)	((i++)) ;;
		-* | = | $(echo "$commands" | sed 's/ / | /g')) ;;
		*)	if declare -F _command_offset >/dev/null; then
				_command_offset \$i
			else
				mapfile -t COMPREPLY < <(compgen -f -- "\$cur")
			fi
			return ;;
		esac
	done
	mapfile -t COMPREPLY < <(compgen -c -- "\$cur")
}
END
else
	cat <<END
	mapfile -t COMPREPLY < <(compgen -f -- "\$cur")
	[[ \$COMP_CWORD != 1 ]] || COMPREPLY+=(\$(compgen -W "$commands" -- "\$cur"))
}
END
fi
echo "complete -o filenames -o bashdefault -F _$name $name"
