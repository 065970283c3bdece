// SPDX-License-Identifier: MIT
// Tables of values are immutable and shared; setting one copies the table. They are small and set
// far less often than tasks are spawned, so spawning must be the cheap side.

#include "core/runtime/fiber_extras.hpp"

#include <weir/error.hpp>
#include <weir/local.hpp>

namespace weir {

context context::copy_of_current() {
    detail::context_values* copy = detail::snapshot_context(detail::current_context());
    return copy != nullptr ? context(copy) : context();
}

namespace detail {

context_values* context_of(const fiber& owner) noexcept {
    return owner.extras != nullptr ? owner.extras->context : nullptr;
}

context_values* current_context() noexcept {
    if (const fiber* running = this_thread.running) {
        return context_of(*running);
    }
    return this_thread.callback_context;
}

context_values& writable_context() {
    if (fiber* running = this_thread.running) {
        fiber_extras& extras = running->extra();
        if (extras.context == nullptr) {
            extras.context = new context_values;
        }
        return *extras.context;
    }
    if (this_thread.callback_context == nullptr) {
        throw loop_error("task-local values can be set only inside a task or a callback of a loop");
    }
    return *this_thread.callback_context;
}

namespace {

void* find_value_in(const context_values* cell, const void* key) noexcept {
    if (cell == nullptr || cell->table == nullptr) {
        return nullptr;
    }
    for (const auto& [name, value] : *cell->table) {
        if (name == key) {
            return value.get();
        }
    }
    return nullptr;
}

}  // namespace

void* find_value(const void* key) noexcept {
    return find_value_in(current_context(), key);
}

const void* find_value_of(const fiber& task, const void* key) noexcept {
    return task.extras != nullptr ? find_value_in(task.extras->context, key) : nullptr;
}

void set_value(const void* key, std::shared_ptr<void> value) {
    set_value_in(writable_context(), key, std::move(value));
}

void set_value_in(context_values& cell, const void* key, std::shared_ptr<void> value) {
    auto changed = cell.table != nullptr ? std::make_shared<context_table>(*cell.table)
                                         : std::make_shared<context_table>();
    std::erase_if(*changed, [key](const auto& entry) { return entry.first == key; });
    if (value != nullptr) {
        changed->emplace_back(key, std::move(value));
    }
    cell.table = std::move(changed);
}

}  // namespace detail
}  // namespace weir
