// SPDX-License-Identifier: MIT
// Task-local values: a cell per fiber that points at an immutable table, shared until changed.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace weir::detail {

class fiber;
using context_table = std::vector<std::pair<const void*, std::shared_ptr<void>>>;

struct context_values {
    std::uint32_t references = 1;
    std::shared_ptr<const context_table> table;
};

class fiber;

// The cell of a fiber; null when it has no values.
context_values* context_of(const fiber& owner) noexcept;
// The cell of the running fiber or callback; null when nothing was ever set.
context_values* current_context() noexcept;
// The same, made if need be. Throws loop_error outside fibers and callbacks.
context_values& writable_context();

inline context_values* share_context(context_values* cell) noexcept {
    if (cell != nullptr) {
        ++cell->references;
    }
    return cell;
}
inline context_values* snapshot_context(const context_values* cell) {
    return cell != nullptr && cell->table != nullptr ? new context_values{1, cell->table} : nullptr;
}
inline void release_context(context_values* cell) noexcept {
    if (cell != nullptr && --cell->references == 0) {
        delete cell;
    }
}

void* find_value(const void* key) noexcept;
// In a fiber that need not be the running one.
const void* find_value_of(const fiber& task, const void* key) noexcept;
void set_value(const void* key, std::shared_ptr<void> value);  // an empty one erases
void set_value_in(context_values& cell, const void* key, std::shared_ptr<void> value);

}  // namespace weir::detail
