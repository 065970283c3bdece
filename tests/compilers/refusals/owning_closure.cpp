// SPDX-License-Identifier: MIT
// A temporary closure that owns a string, inside a co_await expression.
#include <weir/weir.hpp>

#include <string>

weir::task<> refused(std::string name) {
    co_await weir::with_group([name](weir::task_group&) -> weir::task<> { co_return; });
}
