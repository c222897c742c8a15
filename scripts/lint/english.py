#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""english.py FILE...: comments, tests' names and documents are English that is read once

Each pattern below makes a reader look for a noun that the sentence has left out, or for its verb.
Do not change words until the pattern no longer matches: write what a native engineer would say.

It reads the comments of a source file, the messages of a C file, the texts of a table (.def), the
names of a test's checks, the paragraphs of a document (.md) and the text of a manual page (.in). A
sentence that is right as it stands is excused by a line "PATH: SENTENCE" in english.txt next to
this file, where SENTENCE is its first 60 characters.
"""
import os
import re
import sys

PREPOSITION = "about|after|as|at|before|behind|below|by|during|for|from|in|into|like|of|on|over|" \
    "since|than|through|to|under|until|with|without"

PATTERNS = [
    (r"\w's(?=[,.;:)\]?!]|$)", "a noun is missing behind \"'s\""),
    (r"\b(?:that|those) of\b(?! (?:course|late)\b)", "name the noun again"),
    (r"\bthe (?:ones?|same) of\b", "name the noun again"),
    (r"\bof (?:such|these)(?=[,.;:)]|$)|\bof such\b(?! (?:an?|[a-z]+s?)\b)", "name the noun again"),
    (r"\bthe (?:former|latter)\b", "name the noun again"),
    (r"\btheirs\b", "name the noun again"),
    (r"\b(?:%s) what\b" % PREPOSITION, "a preposition and \"what\": say which thing"),
    (r"\btold of\b|\btells? (?:of|its)\b", "reports, names, describes"),
    (r"\b(?:(?<!there )(?:is|are|was|were) there(?! (?:is|are|was|were))\b(?=[,.;:)]|$)"
     r"|is none\b|are none\b)", "exists, is present, has no"),
    (r"\bwith such\b", "name the noun"),
    (r"(?<!@)\bbeside\b(?!\.md)", "next to, with, also, except"),
    (r"\bbut for\b", "except for"),
    (r"\banew\b", "again"),
    (r"\bfor want of\b", "because ... is missing"),
    (r"\bif need be\b", "if needed"),
    (r"\bfrom \S+(?: \S+){0,2} on\b(?=[,.;:)]|$)", "since ..."),
]
COMPILED = [(re.compile(pattern, re.IGNORECASE), why) for pattern, why in PATTERNS]
OPENING = re.compile(r"(?:And|But|So|Else|Nor|Or)\b(?! (?:far|long|that)\b)")

VERBS = set("""
am are be been being can cannot could did do does doing done had has have having is isn may might
must need needs ought shall should was were will would let lets
""".split())
BASES = """
abort accept access accumulate act adapt add adjust advance age agree aim align allocate allow alter
answer append apply approximate arrange arrive ask assert assign assume attach avoid await awake
back balance become begin believe belong bind blame block bound branch break bring buffer build
bundle call cancel cap care carry cast catch cause change charge check choose clamp clean clear clip
clone close collapse collect color combine come commit compare compile complete compress compute
concatenate confirm connect consider consist construct consume contain continue convert copy correct
correlate cost count cover crash create cross cut damage decide declare decode decrement default
defer define delay delete deliver depend deref derive describe deserve destroy detach detect
determine die differ disable disagree discard disconnect display distinguish divide document double
doubt drain draw drive drop duplicate dump emit empty enable enclose encode encounter end enforce
enlarge enqueue ensure enter enumerate equal escape estimate evaluate evict examine exceed exchange
exclude exec execute exist exit expand expect expire explain export expose extend extract fail fake
fall feed fetch fill filter find finish fire fit fix flag flush fold follow forbid force forget fork
form format forward free freeze gain gather generate get give go grant group grow guard guess hand
handle hang happen hash help hide hint hit hold hook identify ignore imitate implement imply import
include increase increment indicate infer inherit init initialize inject inline insert inspect
install intend interrupt introduce invalidate invent invoke join judge jump keep kill know label
lack land last lay lead leak learn leave lengthen lie like limit line link list listen live load
locate lock log look lose lower make manage map mark mask match matter mean measure meet mention
merge mirror miss mix model modify move multiply name nest normalize note notice number observe
obtain occupy occur offer omit open order outlive overflow overlap overtake overwrite own pack pad
page pair parse pass patch pause pay perform permit pick pin place plan play plot point poll pop
populate post prefer prefix prepare present preserve press prevent print proceed process produce
profile promise prove provide publish pull push put query queue quit quote race raise reach read
realign receive recognize recompute reconnect record recover redirect reduce refer refresh refuse
register reject relate relax release relocate rely remain remap remember remove rename render reopen
repeat replace report represent request require reserve reset resize resolve respect restart restore
restrict resume retry return reuse reverse revert rewrite ride round rotate run sample save say
scale scan schedule score search see seek seem select send separate serialize serve set settle
shadow shape share shift shorten show shrink shut signal simulate sit skip sleep slice slow sort
spare span spawn speak spend spill spin split stall stand start state stay steal step stick stop
store stream stretch strip subtract succeed suffice suit sum summarize supply support suppose
survive suspend swap switch sync synchronize take talk target tell tend terminate test throw time
toggle tolerate touch trace track trail translate traverse treat trigger trim truncate trust try
turn unblock underflow undo unlink unload unlock unmap unwind update use validate vanish vary verify
view violate visit wait wake walk want warn waste watch weigh win wipe work wrap write yield zero
zoom yields steps
"""
IRREGULAR = """
became began begun bound broke broken brought built came caught chose chosen cost cut drawn drew
driven drove fallen fed fell felt found gave given gone got grew grown held hidden hung kept knew
known laid lain lay led left lent lit lost made meant met overtaken overwritten paid put read ran
risen rode rose run said sat saw seen sent set shown shrank shrunk shut slept spent split spoke
spoken spun stood stole stolen stuck taken taught thought threw thrown told took understood undone
went woke woken won written wrote dies lies ties
"""


def inflected():
    for verb in BASES.split():
        stem = verb[:-1] if verb.endswith("e") else verb
        twice = verb + verb[-1]
        yield from (verb, verb + "s", verb + "es", stem + "ed", stem + "ing", twice + "ed",
                    twice + "ing")
        if verb.endswith("y"):
            yield from (verb[:-1] + "ies", verb[:-1] + "ied")
    yield from IRREGULAR.split()


VERBS.update(inflected())
WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|https?://\S+|<[^>]*>")
SENTENCE_END = re.compile(r"(?<=[.?!])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)\s+(?=[A-Z@\"'`(<-])")


def has_verb(sentence):
    """A sentence of five words or more, with a capital and a full stop, has a verb."""
    words = WORD.findall(sentence)
    if len(words) < 5 or sentence.startswith("Source:") or not sentence[0].isupper() or \
            not sentence.endswith("."):
        return True
    return any(word.lower() in VERBS or re.search(r"n't$|'ll$|'re$", word) for word in words)


def faults_of(sentence, opening):
    """Yields why a reader reads the sentence twice. @opening: it opens a comment."""
    plain = QUOTED.sub("X", sentence).strip()
    for pattern, why in COMPILED:
        match = pattern.search(plain)
        if match:
            yield f"\"{match[0]}\": {why}"
    if opening and OPENING.match(plain):
        yield f"opens with \"{plain.split()[0]}\": it cannot be read alone"
    # The colon of a label ("Return: ..."), of a time or of a::b does not count.
    if len(re.findall(r"[:;](?=\s)", plain)) - bool(re.match(r"@?[\w, ]+: ", plain)) > 2:
        yield "more than two colons and semicolons: make two sentences"
    if not has_verb(plain):
        yield "a sentence without a verb"


def paragraphs(lines):
    """Yields (number of the first line, text) of each paragraph, and of each row of a table."""
    first, words = 0, []
    for number, line in lines:
        starts = not line or re.search(r"\t|\S {3,}\S", line) or re.match(
            r"(?:[-*] |@\w+[^:]*: |Return:|Source:|\d+\. )", line)
        if starts and words:
            yield first, " ".join(words)
            words = []
        if line:
            first = first if words else number
            words.append(line)
    if words:
        yield first, " ".join(words)


def in_line(text):
    """Code, which a tab indents, is no sentence."""
    return "" if re.match(r" *\*\t", text) else text.strip().strip("*").strip()


BLOCK = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'|/\*(.*?)\*/|(?<!:)//([^\n]*)",
                   re.DOTALL)


def c_comments(text):
    """Yields the lines of each comment as (number, text)."""
    run, last = [], -1
    for match in BLOCK.finditer(text):
        number = text.count("\n", 0, match.start()) + 1
        if match[1] is not None:
            yield [(number + i, in_line(line)) for i, line in enumerate(match[1].split("\n"))]
        elif match[2] is not None:
            if number != last + 1 and run:
                yield run
                run = []
            run.append((number, match[2].strip()))
            last = number
    if run:
        yield run


def hash_comments(text):
    run = []
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"\s*#(?!!)\s?(.*)$", line) or \
            re.match(r".*?[;)}\w\"'\\]\t+#\s(.*)$", line)
        whole = match and re.match(r"\s*#", line)
        if match and not whole:
            yield [(number, match[1].strip())]
            continue
        if match:
            run.append((number, match[1].strip().strip("-").strip()))
        elif run:
            yield run
            run = []
    if run:
        yield run


def python_strings(text):
    for match in re.finditer(r'"""(.*?)"""', text, re.DOTALL):
        number = text.count("\n", 0, match.start()) + 1
        yield [(number + i, line.strip()) for i, line in enumerate(match[1].split("\n"))]


C_TOKEN = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'|[()\[\]{},;]|[^\"'()\[\]{},;]+")
C_STRING = re.compile(r"\"((?:\\.|[^\"\\\n])*)\"")
C_CHECK = re.compile(r"\b(?:(ok)|is_int|is_str)(?=\()")
SH_CHECK = re.compile(
    r"^[^#\n]*?(?:^|[;&|{(!]|\b(?:do|then|else|if)\b)[ \t]*(?:(ok)|is|like|unlike)(?=[ \t])",
    re.MULTILINE)


def c_arguments(text, at):
    """Returns (offset, text) of each argument of the call whose bracket is at @at."""
    depth, start, found = 0, at + 1, []
    for token in C_TOKEN.finditer(text, at):
        depth += (token[0] in ("(", "[", "{")) - (token[0] in (")", "]", "}"))
        if not depth or depth == 1 and token[0] == ",":
            found.append((start, text[start:token.start()]))
            start = token.end()
        if not depth:
            break
    return found


def sh_quoted(text, at, end):
    """Returns the offset after @end, which is '"' or ")"; skips all that is nested before it."""
    while at < len(text) and text[at] != end:
        if text[at] == "\\":
            at += 2
        elif text.startswith("$(", at) or text[at] == "(" and end == ")":
            at = sh_quoted(text, text.index("(", at) + 1, ")")
        elif text[at] == '"':
            at = sh_quoted(text, at + 1, '"')
        elif text[at] == "'" and end == ")":
            at = text.find("'", at + 1) + 1 or len(text)
        else:
            at += 1
    return at + 1


def sh_arguments(text, at):
    """Returns (offset, text) of each argument of the shell's command at @at."""
    found = []
    while True:
        at += len(re.compile(r"(?:[ \t]|\\\n)*").match(text, at)[0])
        start = at
        while at < len(text) and text[at] not in " \t\n;|&)":
            if text[at] == "'":
                at = text.find("'", at + 1) + 1 or len(text)
            elif text[at] == '"' or text.startswith("$(", at):
                at = sh_quoted(text, at + 1 + (text[at] == "$"), '"' if text[at] == '"' else ")")
            else:
                at += 1 + (text[at] == "\\")
        if at == start:
            return found
        found.append((start, text[start:at]))


def check_names(path, text):
    """Yields (number, name) of each check of a test."""
    shell = path.endswith(".sh")
    for match in (SH_CHECK if shell else C_CHECK).finditer(text):
        arguments = (sh_arguments if shell else c_arguments)(text, match.end())
        place = 1 if match[1] else 2
        if len(arguments) > place:
            offset, name = arguments[place]
            number = text.count("\n", 0, offset + len(name) - len(name.lstrip())) + 1
            yield number, name.strip("\"'") if shell else "".join(C_STRING.findall(name))


def markdown(text):
    lines, fenced = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            fenced = not fenced
            line = ""
        if fenced or line.startswith(("|", "    ", "\t", "#")):
            line = ""
        lines.append((number, line.strip().lstrip("> ")))
    yield lines


def manual(text):
    lines, literal, section = [], False, ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(".Sh"):
            section = line[4:]
        if line.startswith((".Bd", ".Ed")):
            literal = line.startswith(".Bd")
        if line.startswith(".") or literal:
            macro = r"^\.(?:Nm|Ar|Fl|Pa|Xr|Cm|Ql|Dq|Sq|Ev|Sy|Em|Dv|Va|Nd|Op|Li|Ic|Fn|Sx|No|Pq)\b" \
                r".*?(?=(?: [.,;:)])*$)"
            line = re.sub(macro, "X", line).replace(" ", "") if not literal else ""
            line = "" if line.startswith(".") else line
        lines.append((number, "" if section == "SYNOPSIS" else line.strip()))
    yield lines


MESSAGE = re.compile(
    r"\b(?:msg__\w+|fprintf|usage__\w+|fail|warn\w*)\s*\((?:[^\";]*,)?\s*"
    r"((?:\"(?:\\.|[^\"\\])*\"\s*)+)")


def messages(text):
    for match in MESSAGE.finditer(text):
        words = "".join(re.findall(r"\"((?:\\.|[^\"\\])*)\"", match[1])).replace("\\n", " ")
        if " " in words.strip():
            yield text.count("\n", 0, match.start(1)) + 1, words.strip()


def texts(path, text):
    """Yields (number, paragraph, whether it opens a comment)."""
    if path.endswith(".md"):
        blocks = markdown(text)
    elif path.endswith(".in"):
        blocks = manual(text)
    elif path.endswith((".c", ".h", ".def", ".cc", ".cu", ".js", ".css", ".S")):
        blocks = c_comments(text)
    else:
        blocks = list(hash_comments(text))
        if path.endswith(".py"):
            blocks += python_strings(text)
    for block in blocks:
        opening = True
        for number, paragraph in paragraphs(block):
            if "SPDX-License" not in paragraph:
                yield number, paragraph, opening and not path.endswith((".md", ".in"))
            opening = False
    if path.startswith("test/") and path.endswith((".sh", ".c")):
        for number, name in check_names(path, text):
            yield number, name, False
    if path.endswith(".def"):
        for match in re.finditer(r'"([^"\n]* [^"\n]*)"', text):
            yield text.count("\n", 0, match.start()) + 1, match[1], False
    if path.endswith(".c") and not path.startswith("test/"):
        for number, words in messages(text):
            yield number, words, False


def main():
    args = sys.argv[1:]
    with open(os.path.join(os.path.dirname(__file__), "english.txt"), encoding="utf-8") as f:
        excused = {line.strip() for line in f if line.strip() and not line.startswith("#")}
    found, used = [], set()
    for path in args:
        with open(path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        for number, paragraph, opening in texts(path, text):
            for i, sentence in enumerate(SENTENCE_END.split(paragraph)):
                excuse = f"{path}: {sentence[:60]}".strip()
                for fault in faults_of(sentence, opening and i == 0):
                    if excuse in excused:
                        used.add(excuse)
                    else:
                        found.append(f"{path}:{number}: {fault}: {sentence[:100]}")
    found += [f"scripts/lint/english.txt: excuses what is no longer there: {line}"
              for line in sorted(excused - used) if line.split(":")[0] in args]
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))


main()
