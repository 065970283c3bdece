// SPDX-License-Identifier: MIT
// The tree of tasks: every fiber with its stack of awaits, innermost last, and under it the
// children of the groups it runs.

#include "core/debug/task_tree.hpp"

#include "base/source_place.hpp"
#include "core/debug/fiber_names.hpp"

#include <weir/detail/promise.hpp>

#include <algorithm>

namespace weir::detail {

namespace {

// The groups that a fiber runs, outermost first.
std::vector<const group_state*> groups_of(const fiber& owner) {
    std::vector<const group_state*> found;
    for (const frame* each = owner.top; each != nullptr && each != &owner; each = each->parent) {
        if (each->is_boundary() && each->table().group != nullptr) {
            found.push_back(each->table().group(static_cast<const boundary&>(*each)));
        }
    }
    std::reverse(found.begin(), found.end());
    return found;
}

// Every unfinished fiber, each before those of its groups, with its depth. A loop, not recursion:
// groups may be nested as deeply as awaits.
template <class Visitor>
void visit_all(const group_state& root, Visitor visit) {
    using children = intrusive_list<fiber, sibling_tag>;
    struct place {
        children::iterator next;
        children::iterator end;
        std::size_t depth;
    };
    std::vector<place> open{{root.children.begin(), root.children.end(), 0}};
    while (!open.empty()) {
        if (open.back().next == open.back().end) {
            open.pop_back();
            continue;
        }
        fiber& each = *open.back().next++;
        const std::size_t depth = open.back().depth;
        visit(each, depth);
        const auto groups = groups_of(each);
        for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
            open.push_back({(*group)->children.begin(), (*group)->children.end(), depth + 1});
        }
    }
}

std::string state_of(const fiber& each) {
    if (&each == this_thread.running) {
        return " (running)";
    }
    if (each.leaf == nullptr && !each.has(is_parked)) {
        return each.has(stop_pending) ? " (stopping)" : " (ready)";
    }
    return each.leaf != nullptr ? " (waits: " + std::string(each.leaf->name()) + ")" : " (waits)";
}

// Empty for coroutines that are the library's own business.
std::string describe_frame(const frame& at) {
    if (at.is_boundary()) {
        return std::string("[") + at.table().name + "]";
    }
    const auto& where = static_cast<const promise_base&>(at).here;
    const std::string name = plain_function_name(where.function_name());
    return name.starts_with("weir::detail::") ? std::string()
                                              : name + " at " + describe_place(where);
}

void print_fiber(fiber& each, std::size_t depth, std::string& into) {
    constexpr std::size_t deepest = 32;  // deeper levels are not indented further
    std::string indent;
    for (std::size_t level = 0; level < std::min(depth, deepest); ++level) {
        indent += "  + ";
    }
    into += indent + known_fiber_name(each) + state_of(each) + "\n";
    std::vector<const frame*> stack;
    for (const frame* at = each.top; at != nullptr && at != &each; at = at->parent) {
        stack.push_back(at);
    }
    for (auto at = stack.rbegin(); at != stack.rend(); ++at) {
        if (const std::string line = describe_frame(**at); !line.empty()) {
            into += indent + "    " + line + "\n";
        }
    }
}

}  // namespace

std::vector<any_handle> list_tasks(const group_state& root) {
    std::vector<any_handle> found;
    visit_all(root, [&](fiber& each, std::size_t) { found.emplace_back(each); });
    return found;
}

std::string describe_tasks(const group_state& root) {
    call_fiber_namers();
    std::string text;
    visit_all(root, [&](fiber& each, std::size_t depth) { print_fiber(each, depth, text); });
    return text;
}

}  // namespace weir::detail
