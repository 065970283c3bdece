#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every public function that returns an awaitable warns when its co_await is forgotten.

Usage: public_awaitables.py INCLUDE_FOLDER FORGOTTEN_CALLS COMPILER [ARGUMENT...]
Reads the public headers, and generates a program that calls, for each function that they declare, a
function with the same result type, and drops the result. Template parameters stand for int. Where
the type is awaitable, the compiler must warn, in words that say `await`. Handles and futures may be
dropped. A deduced result (`auto`) has no type to be read: such functions must be called in
FORGOTTEN_CALLS, unless listed here.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

# Building blocks for other layers, what public headers need and users do not, and `main`.
SKIPPED = {"base", "detail", "program", "testing"}
# Functions with deduced results that nobody awaits, and what authors of awaitables and policies
# use.
NOT_AWAITED = {
    *("begin", "end", "make_operation", "around", "run_on_threads", "on_threads"),
    "loop::submit",
    *("perform", "from", "weir::map", "weir::filter", "weir::take", "weir::enumerate"),
    *("weir::chunk", "weir::retrying", "weir::run"),
    *("task_scope::spawn", "worker_pool::try_submit", "thread_pool::try_run"),
}
# The names that users know for class templates.
ALIASES = {"weir::token_bucket": "weir::limiter", "weir::queue": "weir::basic_queue"}
# Fewer awaitable types than that: the headers were not understood.
LEAST_AWAITED = 55
# What stands for template parameters that int cannot stand for.
STAND_INS = {"Stream": "io::socket", "Resource": "io::socket", "<limiter>": "<token_bucket>"}
# Has the compiler say where a type is awaitable.
MARK = """
#include <weir/detail/promise.hpp>
namespace weir::detail {
template <class T>
concept is_awaited = !std::same_as<T, refused_call> &&
                     (is_task<T>::value || leaf_operation<T> || bounded_awaitable<T> ||
                      requires(T& x) { x.await_ready(); });
struct [[nodiscard("is awaitable")]] mark {};
template <bool IsAwaited>
struct marker {};
template <>
struct marker<true> { mark operator()() const; };
template <>
struct marker<false> { void operator()() const; };
}
"""


def plain_text(source):
    text = re.sub(r"//[^\n]*", "", source)
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"'(\\.|[^'\\\n])'", "''", text)
    return re.sub(r"(?m)^#(.*\\\n)*.*$", "", text)


class scope:
    def __init__(self, kind, name, parameters):
        self.kind, self.name, self.parameters = kind, name, parameters
        self.is_public = kind != "class"
        self.members = set()  # classes and aliases in it


ACCESS = re.compile(r"\b(public|private|protected):")
TEMPLATE = re.compile(r"template <((?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*)> ?")
SCOPE = re.compile(r"(?:inline )?(class|struct|union|namespace) ?(.*)")
FUNCTION = re.compile(
    r"(?:\[\[.*?\]\] |(?:static|inline|virtual|explicit|constexpr|friend) )*"
    r"(?P<result>(?:typename )?[\w:]+(?:<.*?>)?(?:::\w+)?)(?: const)?(?P<indirect>[ *&]+)"
    r"(?P<name>\w+)\(.*"
)


def template_parameters(head):
    """The head without `template <...>` and `requires`, and the parameters."""
    found = []
    while match := TEMPLATE.match(head):
        found += match[1].split(",") if match[1] else []
        head = head[match.end() :]
        if head.startswith("requires"):
            head, at, depth = head[len("requires") :].lstrip(), 0, 0
            for at, letter in enumerate(head):
                depth += (letter in "(<{") - (letter in ")>}")
                around = head[max(at - 2, 0) : at], head[at + 1 : at + 3]
                if depth == 0 and letter == " " and not {"&&", "||"} & set(around):
                    break
            head = head[at:].strip()
    return head, found


def declarations(source):
    """(scopes, words) of each declaration in namespaces and classes, without bodies."""
    scopes, head, depth, skipped = [scope("namespace", "", [])], "", 0, 0
    for letter in plain_text(source):
        if skipped:
            skipped += (letter == "{") - (letter == "}")
            continue
        depth += (letter == "(") - (letter == ")")
        if depth > 0 or letter not in "{};":
            head += letter
            if ACCESS.fullmatch(head.strip()):
                scopes[-1].is_public = head.strip() == "public:"
                head = ""
            continue
        words, head = " ".join(head.split()), ""
        if letter == "}":
            scopes.pop()
            continue
        rest, parameters = template_parameters(words)
        match = SCOPE.fullmatch(rest)
        if member := re.match(
            r"(?:enum )?(?:class|struct|using|enum) (?:\[\[.*?\]\] |WEIR_\w+ )?(\w+)", rest
        ):
            scopes[-1].members.add(member[1])
        if letter == "{" and match and "(" not in re.sub(r"\[\[.*?\]\]", "", match[2]):
            name = re.sub(r"\[\[.*?\]\]|\bWEIR_\w+", "", match[2])
            if match[1] != "namespace":
                name = re.split(r" ?(?<!:):(?!:)| final", name)[0]
            scopes.append(scope(match[1], name.strip(), parameters))
            continue
        yield list(scopes), words
        skipped = int(letter == "{")


def public_functions(folder):
    """(header, scopes, parameters, result type, name) of each public function."""
    for path in sorted(folder.rglob("*.hpp")):
        header = path.relative_to(folder.parent)
        if SKIPPED & set(header.parts):
            continue
        found = [
            (scopes, words, all(each.is_public for each in scopes))
            for scopes, words in declarations(path.read_text())
        ]
        for scopes, words, is_public in found:
            if not is_public or any("detail" in each.name for each in scopes):
                continue
            words, parameters = template_parameters(words)
            match = FUNCTION.fullmatch(words)
            if match and not match["indirect"].strip() and match["name"] != "operator":
                yield header, scopes, parameters, match["result"], match["name"]


def probe(number, scopes, parameters, result):
    """The lines that declare and drop such a result, in the namespace of the declaration."""
    lines = []
    for text in [text for each in scopes for text in each.parameters] + parameters:
        name = text.split("=")[0].replace("...", " ").split()[-1]
        lines.append(f"using {name} = {STAND_INS.get(name, 'int')};")
    result = re.sub(r"<\w+>", lambda match: STAND_INS.get(match[0], match[0]), result)
    lines += [f"extern {result} returns_{number}();", f"returns_{number}();"]
    result = f"decltype(returns_{number}())"
    lines.append(f"weir::detail::marker<weir::detail::is_awaited<{result}>>()();")
    return lines


def is_of_class(scopes, result):
    """Is the result's type declared in the class that declares the function?"""
    first = re.search(r"\w+", result)[0]
    classes = [each for each in scopes if each.kind != "namespace"]
    return any(first in each.members or first == each.name for each in classes)


def is_plain(result):
    """A result that is no class of the library's, or wraps one that nobody awaits."""
    plain = "std|clock|boost|double|int|unsigned|bool|void|auto|explicit|constexpr|operator"
    plain += "|admission"
    return re.match(rf"(typename )?({plain}|return|else)\b|[A-Z]", result) is not None


def write_program(functions):
    """The program, and a name for each of its lines."""
    lines = [f"#include <{header}>" for header in sorted({str(each[0]) for each in functions})]
    lines += MARK.splitlines()
    known, names = set(), {}
    for header, scopes, parameters, result, name in functions:
        if result.startswith(("task<", "weir::task<")):
            scopes, parameters, result = [], [], "weir::task<int>"
        space = "::".join(each.name for each in scopes if each.kind == "namespace" and each.name)
        if (key := (space, *probe(0, scopes, parameters, result))) in known:
            continue
        known.add(key)
        body = probe(len(known), scopes, parameters, result)
        lines += [f"namespace {space or 'weir'} {{", f"void forgets_{len(known)}() {{"]
        names[len(lines) + len(body) - 1] = f"{header}: {name}(): {result}"
        lines += [*body, "}", "}"]
    return lines, names


OBJECT = re.compile(r"^    ([\w:<>, ]+)& (\w+);$", re.MULTILINE)


def objects_by_class(calls):
    """The members of `things` by their classes: {"weir::mutex": ["the.mutex"], ...}."""
    found = {}
    for kind, name in OBJECT.findall(calls):
        full_name = "::".join(re.sub(r"<.*?>", "", kind).split("::")[-2:])
        found.setdefault(ALIASES.get(full_name, full_name), []).append(f"the.{name}")
    return found


def innermost(scopes):
    """The last two names of the scope: 'weir::mutex', 'io::socket', 'watch::follower'."""
    names = "::".join(re.sub("<.*", "", each.name) for each in scopes if each.name)
    return "::".join(names.split("::")[-2:])


def is_in_list(scopes, name, calls, objects):
    """Is this function called, of this class or in this namespace?"""
    if scopes[-1].kind != "namespace":
        known = objects.get(innermost(scopes), [])
        return any(f"    {each}.{name}(" in calls for each in known)
    space = innermost(scopes).split("::")[-1]
    return re.search(rf"\b{space}::{name}\(", calls) is not None


def check_calls(functions, calls):
    """Functions with a deduced result, or an operation of their class's own, that no call has."""
    silent = []
    objects = objects_by_class(calls)
    for header, scopes, _, result, name in functions:
        is_operation = result.endswith("_operation") and is_of_class(scopes, result)
        if result != "auto" and not is_operation:
            continue
        full_name = f"{innermost(scopes).split('::')[-1]}::{name}"
        if is_in_list(scopes, name, calls, objects) or {name, full_name} & NOT_AWAITED:
            continue
        silent.append(f"{header}: {full_name}(): no call in the list")
    return silent


def main():
    folder, calls, command = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    functions = list(public_functions(folder))
    failures = check_calls(functions, calls.read_text())
    probed = [
        each for each in functions if not is_plain(each[3]) and not is_of_class(each[1], each[3])
    ]
    lines, names = write_program(probed)
    with tempfile.TemporaryDirectory() as name:
        source = pathlib.Path(name) / "forgotten.cpp"
        source.write_text("\n".join(lines) + "\n")
        done = subprocess.run(
            [*command, "-fsyntax-only", str(source)], capture_output=True, text=True
        )
    warnings = {}
    for number, text in re.findall(r"forgotten.cpp:(\d+):\d+: warning: (.*)", done.stderr):
        warnings.setdefault(int(number), []).append(text)
    awaited = 0
    for number, name in names.items():
        is_awaited = any("is awaitable" in text for text in warnings.get(number + 1, []))
        awaited += is_awaited
        texts = warnings.get(number, [])
        said = [text for text in texts if "await" in text.partition("nodiscard")[2]]
        if is_awaited and not said:
            failures.append(f"{name}: {'; '.join(warnings.get(number, ['no warning']))}")
    print("\n".join(failures) or f"{awaited} awaitable types of {len(functions)} functions")
    if done.returncode != 0:
        print("\n".join(line for line in done.stderr.splitlines() if "error:" in line))
    return 1 if failures or done.returncode != 0 or awaited < LEAST_AWAITED else 0


if __name__ == "__main__":
    sys.exit(main())
