// SPDX-License-Identifier: MIT
// The compilers' names for functions, made readable. GCC calls the body of a coroutine
// "void ns::f(ns::f(int)::_ZN2ns1fEi.Frame*)" and a lambda "<lambda(int)>", clang the one "R
// ns::f(int)" and the other "(anonymous class)::operator()". People write ns::f and <lambda>. The
// return type, parameters wherever they stand, qualifiers, template bindings and unnamed namespaces
// are removed.

#include "base/source_place.hpp"

namespace weir::detail {

namespace {

void replace_all(std::string& text, std::string_view what, std::string_view replacement) {
    for (auto at = text.find(what); at != std::string::npos;
         at = text.find(what, at + replacement.size())) {
        text.replace(at, what.size(), replacement);
    }
}

// GCC: "<lambda(int, char)>::operator()" and "<lambda(int, char)>" are "<lambda>".
void shorten_lambdas(std::string& text) {
    constexpr std::string_view begin = "<lambda(";
    for (auto at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
        const std::size_t open = at + begin.size() - 1;
        int depth = 0;
        std::size_t close = open;
        for (; close < text.size(); ++close) {
            depth += text[close] == '(' ? 1 : text[close] == ')' ? -1 : 0;
            if (depth == 0) {
                break;
            }
        }
        text.erase(open, close < text.size() ? close + 1 - open : std::string::npos);
    }
    replace_all(text, "<lambda>::operator()", "<lambda>");
}

// The length of "operator()" or another operator's name at this place; 0 if there is none.
std::size_t operator_name(std::string_view text, std::size_t at) {
    constexpr std::string_view word = "operator";
    if (text.compare(at, word.size(), word) != 0) {
        return 0;
    }
    std::size_t end = at + word.size();
    if (text.compare(end, 2, "()") == 0) {
        return end + 2 - at;
    }
    end = text.find_first_not_of("<>=!+-*/%^&|~,[]", end);
    return end == std::string_view::npos || end == at + word.size() ? 0 : end - at;
}

}  // namespace

std::string plain_function_name(const char* decorated) {
    std::string text = decorated;
    replace_all(text, "(anonymous class)::operator()", "<lambda>");
    replace_all(text, "(anonymous namespace)::", "");
    replace_all(text, "{anonymous}::", "");
    shorten_lambdas(text);
    std::string name;
    int angles = 0;
    int rounds = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (rounds == 0) {
            if (const std::size_t length = operator_name(text, at); length > 0) {
                name.append(text, at, length);
                at += length - 1;
                continue;
            }
        }
        const char each = text[at];
        const bool is_top = angles == 0 && rounds == 0;
        if (is_top && each == ' ' && !name.empty()) {
            // What comes before is the return type, unless parameters have been seen: then the rest
            // is qualifiers, constraints and template bindings.
            if (text[at - 1] == ')' && text.compare(0, at, "decltype(auto)") != 0) {
                break;
            }
            if (text.compare(at, 2, " [") == 0) {
                break;
            }
            name.clear();
            continue;
        }
        if (each == '(' && angles == 0) {
            ++rounds;
        }
        if (rounds == 0) {
            name += each;
        }
        if (each == ')' && angles == 0) {
            --rounds;
        }
        if (rounds == 0) {
            angles += each == '<' ? 1 : each == '>' ? -1 : 0;
        }
    }
    return name;
}

std::string describe_place(const std::source_location& where) {
    return std::string(where.file_name()) + ":" + std::to_string(where.line());
}

}  // namespace weir::detail
