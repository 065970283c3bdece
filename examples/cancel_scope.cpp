// SPDX-License-Identifier: MIT
// R9, R11: a part of a task that can be stopped separately, and deadlines that move

#include <weir/weir.hpp>

#include <cstdio>

using namespace std::chrono_literals;

// The deadline is moved as long as there is progress.
weir::task<int> download(weir::cancel_scope& scope) {
    int blocks = 0;
    for (const auto time : {1s, 2s, 1s, 10s}) {
        co_await weir::sleep(time);
        std::printf("block %d\n", ++blocks);
        if (!scope.try_reschedule_after(3s)) {
            break;  // the block and the deadline came together
        }
    }
    co_return blocks;
}

weir::task<> show() {
    weir::cancel_scope idle(3s);
    const std::optional<int> blocks = co_await idle.run(download(idle));
    std::printf("download %s after %lld s\n", blocks ? "complete" : "stalled",
                static_cast<long long>(weir::now().time_since_epoch() / 1s));

    // Another task stops the search; this task continues after it.
    weir::cancel_scope search;
    auto user = [&]() -> weir::task<> {
        co_await weir::sleep(2s);
        search.cancel("the user pressed Escape");
    };
    auto pressing = weir::spawn(user);
    const bool found = co_await search.run(weir::sleep(1h));
    std::printf("search %s\n", found ? "complete" : "given up");
    co_await pressing;
}

int main() {
    weir::run(show(), weir::loop_options{.driver = weir::driver_kind::simulated});
}
