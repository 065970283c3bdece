// SPDX-License-Identifier: MIT
// Reads commands from standard input, a terminal or a pipe, while other tasks run
#include <weir/io/standard_input.hpp>
#include <weir/weir.hpp>

#include <iostream>
#include <string>

using namespace std::chrono_literals;

weir::task<> count_down(std::string name, int from) {
    for (int left = from; left > 0; --left) {
        co_await weir::sleep(5ms);
    }
    std::cout << name << " is done\n";
}

weir::task<> run() {
    weir::io::input_stream input = weir::io::standard_input();
    if (input.is_terminal()) {
        std::cout << "commands: start NAME, quit\n";
    }
    auto lines = weir::io::lines(std::move(input));
    auto read = [&lines](weir::task_group& group) -> weir::task<> {
        while (auto line = co_await lines.next()) {
            if (line->starts_with("start ")) {
                group.spawn(count_down, line->substr(6), 3);
            } else if (*line == "quit") {
                break;
            } else {
                std::cout << "what is '" << *line << "'?\n";
            }
        }
    };
    co_await weir::with_group(read);
    std::cout << "bye\n";
}

int main() {
    weir::run(run());
}
