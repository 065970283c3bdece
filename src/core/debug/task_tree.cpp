// SPDX-License-Identifier: MIT
// The tree of tasks: every fiber with its stack of awaits, innermost last, and under it the
// children of the groups it runs.

#include "core/debug/fiber_namer.hpp"
#include "core/loop/loop_state.hpp"

#include <weir/detail/group_support.hpp>
#include <weir/detail/promise.hpp>
#include <weir/loop.hpp>

#include <algorithm>

namespace weir {

namespace {

// The groups that a fiber runs, outermost first.
std::vector<const detail::group_state*> groups_of(const detail::fiber& of) {
    std::vector<const detail::group_state*> found;
    for (const detail::frame* each = of.top; each != nullptr && each != &of; each = each->parent) {
        if (each->is_boundary() && each->table().group != nullptr) {
            found.push_back(each->table().group(static_cast<const detail::boundary&>(*each)));
        }
    }
    std::reverse(found.begin(), found.end());
    return found;
}

// Every unfinished fiber, each before those of its groups, with its depth. A loop, not recursion:
// groups may be nested as deeply as awaits.
template <class Visitor>
void visit_all(const detail::group_state& root, Visitor visit) {
    struct place {
        detail::fiber* next;
        std::size_t depth;
    };
    std::vector<place> open{{root.first_child, 0}};
    while (!open.empty()) {
        const auto [each, depth] = open.back();
        if (each == nullptr) {
            open.pop_back();
            continue;
        }
        open.back().next = each->next_sibling;
        visit(*each, depth);
        const auto groups = groups_of(*each);
        for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
            open.push_back({(*group)->first_child, depth + 1});
        }
    }
}

std::string state_of(const detail::fiber& each) {
    if (&each == detail::this_thread.running) {
        return " (running)";
    }
    if (each.leaf == nullptr && !each.has(detail::is_parked)) {
        return each.has(detail::stop_pending) ? " (stopping)" : " (ready)";
    }
    return each.leaf != nullptr ? " (waits: " + std::string(each.leaf->name()) + ")" : " (waits)";
}

// Empty for coroutines that are the library's own business.
std::string describe_frame(const detail::frame& at) {
    if (at.is_boundary()) {
        return std::string("[") + at.table().name + "]";
    }
    const auto& where = static_cast<const detail::promise_base&>(at).here;
    const std::string name = detail::plain_function_name(where.function_name());
    return name.starts_with("weir::detail::") ? std::string()
                                              : name + " at " + detail::describe_place(where);
}

void print_fiber(detail::fiber& each, std::size_t depth, std::string& into) {
    constexpr std::size_t deepest = 32;  // what is nested deeper is not indented further
    std::string indent;
    for (std::size_t level = 0; level < std::min(depth, deepest); ++level) {
        indent += "  + ";
    }
    into += indent + detail::known_fiber_name(each) + state_of(each) + "\n";
    std::vector<const detail::frame*> stack;
    for (const detail::frame* at = each.top; at != nullptr && at != &each; at = at->parent) {
        stack.push_back(at);
    }
    for (auto at = stack.rbegin(); at != stack.rend(); ++at) {
        if (const std::string line = describe_frame(**at); !line.empty()) {
            into += indent + "    " + line + "\n";
        }
    }
}

}  // namespace

std::vector<any_handle> loop::all_tasks() {
    check_thread("all_tasks");
    std::vector<any_handle> found;
    visit_all(*root_, [&](detail::fiber& each, std::size_t) { found.emplace_back(each); });
    return found;
}

std::string loop::dump_tasks() {
    check_thread("dump_tasks");
    detail::ask_fiber_namers();
    std::string text;
    visit_all(*root_,
              [&](detail::fiber& each, std::size_t depth) { print_fiber(each, depth, text); });
    return text;
}

}  // namespace weir
