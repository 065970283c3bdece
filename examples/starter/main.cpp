// SPDX-License-Identifier: MIT
#include <weir/weir.hpp>

using namespace std::chrono_literals;

weir::task<int> main_task() {
    co_await weir::sleep(10ms);
    co_return 0;
}

int main() {
    return weir::run(main_task());
}
