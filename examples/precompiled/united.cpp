// SPDX-License-Identifier: MIT
//
// The program of all examples that are compiled together: it runs the one whose name it is called
// by, through a link of that name.
#include "united.hpp"

#include <cstdio>
#include <string_view>

namespace {

united_example* first = nullptr;

}  // namespace

united_example::united_example(const char* name, main_function start)
    : name(name), start(start), next(first) {
    first = this;
}

int main(int count, char** arguments) {
    std::string_view called = count > 0 ? arguments[0] : "";
    called.remove_prefix(called.rfind('/') + 1);
    for (const united_example* each = first; each; each = each->next) {
        if (called == each->name) {
            return each->start(count, arguments);
        }
    }
    std::fprintf(stderr, "call this program by the name of an example, through a link\n");
    return 2;
}
