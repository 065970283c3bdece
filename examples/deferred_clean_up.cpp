// SPDX-License-Identifier: MIT
// R9: clean-up registered on the way, run last in first out when the coroutine has ended or was
// stopped

#include <weir/weir.hpp>

#include <cstdio>
#include <string>

using namespace std::chrono_literals;

// Owns its data: the coroutine that registered it is gone when this runs.
weir::task<> remove_file(std::string name) {
    co_await weir::sleep(10ms);
    std::printf("removed %s\n", name.c_str());
}

weir::task<> build(std::string target, bool succeeds) {
    for (const char* part : {"preprocessed", "compiled"}) {
        std::printf("writing %s.%s\n", target.c_str(), part);
        co_await weir::defer(remove_file, target + "." + part);
        co_await weir::sleep(1s);
    }
    if (!succeeds) {
        co_await weir::sleep_forever();
    }
    std::printf("%s is built\n", target.c_str());
}

weir::task<> show() {
    co_await build("hello", true);
    try {
        co_await weir::timeout(5s, build("endless", false));
    } catch (const weir::timed_out&) {
        std::puts("endless took too long");
    }
}

int main() {
    weir::run(show(), weir::loop_options{.driver = weir::driver_kind::simulated});
}
