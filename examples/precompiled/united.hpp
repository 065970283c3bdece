// SPDX-License-Identifier: MIT
//
// For sources made of several examples (examples/unite.cmake): each one's main is a function that
// the program finds by the example's name.
#pragma once

struct united_example {
    using main_function = int (*)(int, char**);

    united_example(const char* name, main_function start);

    const char* name;
    main_function start;
    united_example* next;
};

inline int start_example(int (*start)(), int, char**) {
    return start();
}

inline int start_example(int (*start)(int, char**), int count, char** arguments) {
    return start(count, arguments);
}
