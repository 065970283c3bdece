// SPDX-License-Identifier: MIT
// Follows the output of another program line by line, until it has seen enough; then ends the
// program.

#include <weir/io/buffered_reader.hpp>
#include <weir/io/process.hpp>
#include <weir/weir.hpp>

#include <cstdio>
#include <string>
#include <vector>

using namespace std::chrono_literals;

// Simulates a service that logs for ever, and prints a last line when it is stopped.
const std::vector<std::string> service{
    "/bin/sh", "-c",
    "trap 'echo shutting down; exit 0' TERM;"
    "n=0; while :; do n=$((n+1)); echo \"request $n\"; sleep 0.01; done"};

weir::task<> follow(weir::process& program, int most) {
    weir::io::buffered_reader lines(program.out());
    for (int seen = 0; seen < most; ++seen) {
        const auto line = co_await lines.read_line(4096);
        if (!line.has_value()) {
            co_return;
        }
        std::printf("log: %.*s\n", static_cast<int>(line->size()), line->data());
    }
}

weir::task<> main_task(std::vector<std::string> command) {
    weir::process program(command, {.out = weir::stdio::pipe});
    co_await weir::timeout(10s, follow(program, 3));
    // Every end of this function, also a cancellation, ends the program; here it may clean up.
    const weir::exit_status ended = co_await program.terminate();
    std::printf("the service %s\n", ended.text().c_str());
}

int main(int argc, char** argv) {
    std::vector<std::string> command(argv + 1, argv + argc);
    return weir::run_main(main_task(command.empty() ? service : command));
}
