// SPDX-License-Identifier: MIT
// A task-local list of the uses around a task. An ended use stays in the lists of tasks that were
// started inside it, without a database.

#include <weir/db/pg/detail/connection_use.hpp>

namespace weir::pg::detail {

connection_use::enclosing& connection_use::all() noexcept {
    static enclosing list;
    return list;
}

connection_use::connection_use(const database_core* core)
    : own_(std::make_shared<entry>(entry{core, all().get()})), mark_(all(), own_) {}

connection_use::~connection_use() {
    own_->core = nullptr;
}

std::size_t connection_use::count(const entry* innermost, const database_core* core) noexcept {
    std::size_t held = 0;
    for (const entry* each = innermost; each != nullptr; each = each->outer.get()) {
        held += each->core == core ? 1 : 0;
    }
    return held;
}

std::size_t connection_use::held_around(const weir::detail::fiber& task,
                                        const database_core* core) noexcept {
    const void* const found = weir::detail::find_value_of(task, &all());
    return found != nullptr
               ? count(static_cast<const std::shared_ptr<const entry>*>(found)->get(), core)
               : 0;
}

std::size_t connection_use::held_around_current(const database_core* core) noexcept {
    return count(all().get().get(), core);
}

}  // namespace weir::pg::detail
