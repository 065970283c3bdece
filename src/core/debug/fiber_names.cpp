// SPDX-License-Identifier: MIT
// Names are generated on first use and then kept. Components that name their fibers on demand are
// registered in a list of the thread.

#include "core/debug/fiber_names.hpp"

#include "base/source_place.hpp"
#include "core/runtime/fiber_extras.hpp"

#include <weir/detail/promise.hpp>
#include <weir/handle.hpp>

#include <atomic>

namespace weir::detail {

namespace {

constinit thread_local fiber_namer* first_namer = nullptr;

}  // namespace

fiber_namer::fiber_namer() noexcept : next_(first_namer) {
    first_namer = this;
}

// A fiber_namer that has outlived its thread is not found, and the list it was in is gone.
fiber_namer::~fiber_namer() {
    fiber_namer** place = &first_namer;
    while (*place != nullptr && *place != this) {
        place = &(*place)->next_;
    }
    if (*place == this) {
        *place = next_;
    }
}

void call_fiber_namers() {
    for (fiber_namer* each = first_namer; each != nullptr; each = each->next_) {
        each->name_fibers();
    }
}

void name_fiber(fiber& unnamed, const std::string& name) {
    std::string& own = unnamed.extra().name;
    if (own.empty()) {
        own = name;
    }
}

std::string fiber_name(fiber& named) {
    if (named.extras == nullptr || named.extras->name.empty()) {
        call_fiber_namers();
    }
    return known_fiber_name(named);
}

std::string known_fiber_name(fiber& named) {
    fiber_extras& extras = named.extra();
    if (!extras.name.empty()) {
        return extras.name;
    }
    if (extras.number == 0) {
        static std::atomic<std::uint64_t> last{0};
        extras.number = ++last;
    }
    return "task-" + std::to_string(extras.number);
}

namespace {

bool is_ours(const std::source_location& place) {
    return place.line() == 0 || plain_function_name(place.function_name()).starts_with("weir::");
}

}  // namespace

std::source_location calling_place() {
    const fiber* const running = this_thread.running;
    if (running == nullptr) {
        return {};
    }
    for (const frame* at = running->top; at != nullptr && at != running; at = at->parent) {
        if (!at->is_boundary()) {
            const std::source_location& place = static_cast<const promise_base*>(at)->here;
            if (!is_ours(place)) {
                return place;
            }
        }
    }
    return running->extras != nullptr ? running->extras->created : std::source_location();
}

std::string describe_caller() {
    const std::source_location place = calling_place();
    return place.line() == 0 ? std::string()
                             : " by " + plain_function_name(place.function_name()) +
                                   ", at or after " + describe_place(place);
}

void note_creation(fiber& fresh, const std::source_location& where) {
    fiber_extras& extras = fresh.extra();
    extras.created = is_ours(where) ? calling_place() : where;
    known_fiber_name(fresh);  // numbers follow the order of creation
}

std::string creation_site(const fiber& spawned) {
    if (spawned.extras == nullptr || spawned.extras->created.line() == 0) {
        return {};
    }
    return describe_place(spawned.extras->created);
}

}  // namespace weir::detail
