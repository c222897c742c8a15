# SPDX-License-Identifier: MIT
"""Launches from all kinds of Python code, and writes each call path as Python reports it.

py_stacks.py LIBRARY EXPECTED [held]: EXPECTED gets a line "SITE COUNT CHAIN" for each launch site:
how often it launched, and its call chain, root first, including the native function py_through if
the call went through it. With "held", launches are made while the GIL is held.
"""
import ctypes
import os
import sys
import threading

library, expected_path = sys.argv[1:3]
held = "held" in sys.argv[3:]
lib = (ctypes.PyDLL if held else ctypes.CDLL)(library or None)
through_lib = ctypes.CDLL(library or None)
Callback = ctypes.CFUNCTYPE(None)

sites = {}
lock = threading.Lock()


def chain_of(frame):
    """Returns the chain that the shim should find."""
    chain = []
    while frame:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        chain.append("%s:%s:%s" % (os.path.basename(code.co_filename), name, frame.f_lineno))
        if code.co_name.startswith("from_c"):
            chain.append("py_through")
        frame = frame.f_back
    return ";".join(reversed(chain))


def launch():
    chain = chain_of(sys._getframe(1))
    with lock:
        site = sites.setdefault(chain + LAUNCH, [len(sites), 0])
        site[1] += 1
    lib.py_launch(site[0])


LAUNCH = ";py_stacks.py:launch:%d" % (launch.__code__.co_firstlineno + 5)


def simple():
    launch()


def lines():
    launch()

    # The call has an empty line before it, and spans several lines.
    launch(
    )
    for _ in range(3):
        launch(); launch()


def recursive(n):
    if n:
        recursive(n - 1)
    else:
        launch()


def generator(n):
    for i in range(n):
        launch()
        yield i


def delegating():
    yield from generator(2)
    launch()


class Thing:
    def __init__(self):
        launch()

    def __enter__(self):
        launch()
        return self

    def __exit__(self, *_):
        launch()

    def __del__(self):
        launch()

    def __len__(self):
        launch()
        return 1

    def __call__(self):
        launch()

    @property
    def size(self):
        launch()
        return 2

    @staticmethod
    def static():
        launch()

    @classmethod
    def of_class(cls):
        launch()

    def __lt__(self, other):
        launch()
        return False


def decorated(function):
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper


@decorated
def under_wrapper():
    launch()


def closure(n):
    cell = n

    def inner():
        launch()
        return cell
    return inner()


async def awaited(n):
    launch()
    if n:
        await awaited(n - 1)
    launch()


def run(coroutine):
    try:
        coroutine.send(None)
    except StopIteration:
        pass


async def agenerator():
    for i in range(2):
        launch()
        yield i


async def aconsumer():
    async for _ in agenerator():
        launch()


def from_c():
    launch()


def from_c_deep():
    recursive(2)
    through_lib.py_through(Callback(from_c))


def through():
    through_lib.py_through(Callback(from_c))
    through_lib.py_through(Callback(from_c_deep))
    recursive(1)


def raising(n):
    if not n:
        raise ValueError
    try:
        raising(n - 1)
    finally:
        launch()


def handling():
    try:
        raising(2)
    except ValueError:
        launch()


def comprehensions():
    [launch() for _ in range(2)]
    {launch() for _ in range(2)}
    dict((launch(), i) for i in range(2))
    list(map(lambda _: launch(), range(2)))
    sorted([Thing.__new__(Thing), Thing.__new__(Thing)])
    (lambda: (lambda: launch())())()


def names_of_all_kinds():
    for name in ("plain", "n\xe4me", "\u0438\u043c\u044f", "\U00020000"):
        space = {"launch": launch}
        exec(compile("def %s():\n    launch()\n%s()" % (name, name), "<%s>.py" % name, "exec"),
             space)


def exec_loop():
    """Creates and frees code objects. Often one replaces another at its address and differs from it
    in only one thing."""
    space = {"launch": launch}
    for i in range(300):
        exec(compile("launch()", "gen%d.py" % (i % 7), "exec"), space)
        exec(compile("%slaunch()" % ("\n" * (i % 5)), "gap.py", "exec"), space)
        exec(compile("a = 1\n%sb = 2\nlaunch()" % ("\n" * (i % 5)), "late.py", "exec"), space)
        exec(compile("def f%d():\n  launch()\nf%d()" % (i % 9, i % 9), "name.py", "exec"), space)
        exec(compile("def g():\n%s  launch()\ng()" % ("  a = 1\n" * (i % 4)), "body.py", "exec"),
             space)


def long_function():
    source = "def long(n):\n" + "".join("    if n == %d:\n        launch()\n" % i
                                        for i in range(400))
    space = {"launch": launch}
    exec(compile(source, "long.py", "exec"), space)
    for n in (0, 1, 127, 128, 255, 256, 399):
        space["long"](n)


def far_lines():
    space = {"launch": launch}
    exec(compile("\n" * 70000 + "launch()\n" + "\n" * 300 + "launch()", "far.py", "exec"), space)


class Wander:
    """Makes launches that each share some frames with the previous launch."""
    def __init__(self, seed, launches):
        self.seed, self.left = seed, launches

    def any(self, below):
        self.seed = (self.seed * 1103515245 + 12345) % 2 ** 31
        return (self.seed >> 16) % below

    def launch(self):
        self.left -= 1
        launch()
        if self.any(2):
            launch()

    def plain(self, depth):
        self.on(depth)

    def other(self, depth):
        if self.any(2):
            self.on(depth)
        else:
            self.on(depth)

    def generating(self, depth):
        for _ in range(2):
            self.on(depth)
            yield depth

    def generated(self, depth):
        for _ in self.generating(depth):
            self.launch()

    def sorting(self, depth):
        sorted([depth], key=self.on)

    def on(self, depth):
        for _ in range(1 + self.any(2)):
            if self.left <= 0:
                return
            if depth == 0 or not self.any(4):
                self.launch()
            else:
                kinds = (self.plain, self.other, self.generated, self.sorting)
                kinds[self.any(4)](depth - 1)


def wander():
    walk = Wander(1, 150)
    while walk.left > 0:
        walk.on(3)


def all_of_them():
    simple()
    lines()
    for depth in (0, 1, 5, 30):
        recursive(depth)
    for _ in generator(2):
        pass
    list(delegating())
    with Thing() as thing:
        len(thing)
        thing()
        thing.size
        thing.static()
        Thing.of_class()
    del thing
    under_wrapper()
    closure(1)
    run(awaited(2))
    run(aconsumer())
    through()
    handling()
    comprehensions()
    names_of_all_kinds()
    exec_loop()
    long_function()
    far_lines()
    wander()


def main():
    lib.py_launch_init()
    all_of_them()
    threads = [threading.Thread(target=all_of_them) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    all_of_them()
    lib.py_launch_done()


main()
with open(expected_path, "w", encoding="utf-8") as out:
    for chain, (site, count) in sites.items():
        print(site, count, chain, file=out)
