#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""figures.py [COMMIT] - the size of each room (folder of sources), and broken rules between rooms

Counts the files of the working tree that git knows, or the files of COMMIT. A line counts if it
has more than blanks and comments. Generated files and files of other projects do not count.
"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ('preload', 'loader', 'merge')	# their folders are rooms, too
ROOMS = ('bpf', 'record', 'lib', *PROGRAMS, 'metrics', 'push', 'python', 'scripts', 'test')
SOURCE = re.compile(r'\.(c|h|S|def|cc|cu|js|css|html|py|sh|awk|sql)$')
COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*', re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)


def git(*args, **more):
    return subprocess.run(['git', '-C', os.path.dirname(HERE), *args], check=True,
                          stdout=subprocess.PIPE, **more).stdout


def nr_lines(path, text):
    """Returns how many lines are neither blank nor comments."""
    if re.search(r'\.(py|sh|awk|sql)$', path):
        text = re.sub(r'^\s*(#|--).*$', '', text, flags=re.M)
    elif not path.endswith('.html'):
        text = COMMENT.sub(lambda match: match.group(1) or ' ', text)
    return sum(1 for line in text.split('\n') if line.strip())


def room_of(path):
    parts = path.split('/')
    inside = len(parts) > 2 and parts[0] in PROGRAMS
    return '/'.join(parts[:2 if inside else 1])


def circles(texts):
    """Returns the files that include each other in a cycle; a file and its header are one."""
    arrows = {}
    for path, text in texts.items():
        stem = re.sub(r'\.[chS]$', '', path)
        arrows.setdefault(stem, set())
        for header in INCLUDE.findall(text):
            found = [f'{room}/{header}' for room in (path.split('/')[0], 'lib', 'bpf', 'record')
                     if f'{room}/{header}' in texts]
            if found:
                arrows[stem].add(re.sub(r'\.h$', '', found[0]))
        arrows[stem].discard(stem)
    while True:
        ends = [stem for stem, to in arrows.items() if not to & arrows.keys()]
        if not ends:
            break
        for stem in ends:
            del arrows[stem]
    # Each remaining file leads to a cycle, or is part of a cycle.
    while True:
        reached = set().union(*arrows.values()) if arrows else set()
        starts = [stem for stem in arrows if stem not in reached]
        if not starts:
            return sorted(arrows)
        for stem in starts:
            del arrows[stem]


def floors(texts):
    """Yields the rooms of each program, from the top floor down, as include_rules.sh has them."""
    rules = texts.get('test/t0/include_rules.sh', '')
    features = re.findall(r'^\tFEATURE\((\w+)\)', texts.get('merge/model/feature.h', ''), re.M)
    for program, rooms in re.findall(r'^floors (\w+) (.*)$', rules, re.M):
        yield program, re.sub(r'"\$\(.*\)"', '+'.join(features), rooms).split()


def below(root, texts):
    """Yields the functions that a lower room declares and a higher room defines."""
    for program, rooms in floors(texts):
        out = subprocess.run([sys.executable, f'{HERE}/lint/below.py', program, *rooms],
                             cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout
        yield from out.splitlines()


def report(root, paths):
    texts = {}
    for path in paths:
        if path.split('/')[0] in ROOMS and SOURCE.search(path) and 'package' not in path:
            with open(os.path.join(root, path), encoding='utf-8', errors='replace') as f:
                texts[path] = f.read()
    rooms = {}
    for path, text in texts.items():
        room = rooms.setdefault(room_of(path), [0, 0])
        room[0] += 1
        room[1] += nr_lines(path, text)
    print('files   lines  room')
    for room in sorted(rooms):
        print(f'{rooms[room][0]:5} {rooms[room][1]:7}  {room}')
    product = [room for room in rooms if room not in ('test', 'scripts')]
    print(f'{sum(rooms[r][0] for r in product):5} {sum(rooms[r][1] for r in product):7}  '
          'without scripts and test')
    print(f'folders: {len({os.path.dirname(path) for path in texts})}')
    wrong = circles({p: t for p, t in texts.items() if re.search(r'\.[chS]$', p) and
                     not p.startswith('test/')})
    print(f'files in circles of includes: {len(wrong)}', *wrong)
    wrong = list(below(root, texts))
    print(f'functions declared below and defined above: {len(wrong)}', *wrong, sep='\n  ')


def main():
    if len(sys.argv) == 1:
        root = os.path.dirname(HERE)
        paths = [p for p in git('ls-files', text=True).splitlines()
                 if os.path.isfile(os.path.join(root, p))]
        report(root, paths)
        return
    with tempfile.TemporaryDirectory() as root:
        tree = git('archive', sys.argv[1])
        subprocess.run(['tar', '-x', '-C', root], input=tree, check=True)
        report(root, git('ls-tree', '-r', '--name-only', sys.argv[1], text=True).splitlines())


main()
