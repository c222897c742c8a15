#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
#
# completion.sh PROGRAM: prints bash's completion of its command line
#
# The options are those of --help. --help also shows the kind of an option's argument by a name:
# FILE, DIR, PID. The names that an option knows come from the program's message for an unknown one.
set -e
program=$(readlink -f "$1")
name=${program##*/}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/xpucompletion.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

# Lines "OPTION KIND", as in "--output FILE"; KIND is "-" for none.
options() {
	"$program" --help | grep -oE '^ {2,6}((-[A-Za-z]|--[a-z-]+)( [A-Z]+\b)?(, )?)+' |
		grep -oE -- '--?[A-Za-z][a-z-]*( [A-Z]+)?' | awk '{
			# "-o, --output FILE": the letter takes it, too.
			if ($1 ~ /^-[A-Za-z]$/ && !$2) { letter = letter " " $1; next }
			n = split(letter, letters, " ")
			for (i = 1; i <= n; i++) print letters[i], $2 ? $2 : "-"
			letter = ""
			print $1, $2 ? $2 : "-"
		} END { n = split(letter, letters, " "); for (i = 1; i <= n; i++) print letters[i], "-" }' |
		sort -u
}

values() {		# values OPTION: the names that it knows, if it does
	(cd "$tmp" && "$program" "$1=?" 2>&1 </dev/null | grep '[?]' | tail -n 1) |
		grep -oE '[a-z][a-z_-]*(, [a-z][a-z_-]*)* (and|or) [a-z][a-z_-]*' | tail -n 1 |
		sed 's/,//g; s/ and / /; s/ or / /' || true
}

commands() {		# the words that may come first
	"$program" --help | sed -n "s/^\(usage: \)\{0,1\} *$name \[\{0,1\}\([a-z][a-z]*\)\]\{0,1\} .*/\2/p" | sort -u
}

opts=$(options)
[ -n "$opts" ] || { echo "completion.sh: $program --help has no options" >&2; exit 1; }
words() {		# words KIND...: the options of such kinds
	for kind; do
		echo "$opts" | awk -v kind="$kind" '$2 == kind { print $1 }'
	done | tr '\n' '|' | sed 's/|$//'
}

cat <<END
# bash completion of $name: made by scripts/completion.sh from what $name --help says
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
echo "$opts" | grep '^--' | while read -r option kind; do
	case $kind in
	FILE | DIR | DIRS | PID)
		continue ;;
	esac
	values=$(values "$option")
	letter=$("$program" --help | sed -n "s/^  \(-[A-Za-z]\), $option\( .*\)*\$/|\1/p" | head -n 1)
	[ -z "$values" ] || printf '\t%s)\n\t\tmapfile -t COMPREPLY < <(compgen -P "${cur%%"${cur##*,}"}" -W "%s" -- "${cur##*,}")\n\t\treturn ;;\n' \
		"$option$letter" "$values"
done
for kind in FILE DIR DIRS PID; do
	list=$(words $kind)
	[ -n "$list" ] || continue
	case $kind in
	FILE)	what='-f' ;;
	PID)	what='-W "$(cd /proc && echo [0-9]*)"' ;;
	*)	what='-d' ;;
	esac
	# shellcheck disable=SC2016
	printf '\t%s)\n\t\tmapfile -t COMPREPLY < <(compgen %s -- "$cur")\n\t\treturn ;;\n' "$list" "$what"
done
others=$(echo "$opts" | awk '$2 != "-" && $2 !~ /^(FILE|DIRS?|PID)$/ { print $1 }' | tr '\n' '|' | sed 's/|$//')
[ -z "$others" ] || printf '\t%s)\n\t\treturn ;;\n' "$others"
cat <<END
	esac
	if [[ \$cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(echo "$opts" | cut -d' ' -f1 | tr '\n' ' ')" -- "\$cur")
		return
	fi
END
if [ "$name" = xpuload ]; then
	takes=$(echo "$opts" | awk '$2 != "-" { print $1 }' | tr '\n' '|' | sed 's/|$//')
	cat <<END
	# Behind the COMMAND, it is the command's turn.
	for ((i = 1; i < COMP_CWORD; i++)); do
		case \${COMP_WORDS[i]} in
		$takes)	((i++)) ;;
		-* | = | record) ;;
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
	[[ \$COMP_CWORD != 1 ]] || COMPREPLY+=(\$(compgen -W "$(commands | tr '\n' ' ')" -- "\$cur"))
}
END
fi
echo "complete -o filenames -o bashdefault -F _$name $name"
