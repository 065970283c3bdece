// SPDX-License-Identifier: MIT
// executor: where functions that block are run, so that the loop is not held up. A thread pool, a
// single thread, or, in a test, any stand-in.
#pragma once

#include <weir/base/unique_function.hpp>
#include <weir/task.hpp>

namespace weir {

class executor {
public:
    using work = detail::unique_function<void()>;

    // Runs the work, which throws nothing, where it may block; ends when it has returned. May throw
    // instead of running it: weir::refused, say. Is awaited behind a shield: it is not stopped.
    virtual task<void> run(work what) = 0;

protected:
    ~executor() = default;
};

}  // namespace weir
