// SPDX-License-Identifier: MIT
// The tree of tasks: every fiber with its stack of awaits, innermost last, and under it the children of
// the groups it runs.

#include <weir/detail/group_support.hpp>
#include <weir/detail/loop_state.hpp>
#include <weir/detail/promise.hpp>
#include <weir/loop.hpp>

#include <algorithm>

namespace weir {

namespace {

void collect(const detail::group_state& group, std::vector<any_handle>& into);

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

void collect(const detail::group_state& group, std::vector<any_handle>& into) {
    for (detail::fiber* each = group.first_child; each != nullptr; each = each->next_sibling) {
        into.emplace_back(*each);
        for (const detail::group_state* inner : groups_of(*each)) {
            collect(*inner, into);
        }
    }
}

class tree_printer {
public:
    std::string text;

    void print(const detail::group_state& group, const std::string& indent) {
        for (detail::fiber* each = group.first_child; each != nullptr; each = each->next_sibling) {
            print_fiber(*each, indent);
        }
    }

private:
    void print_fiber(detail::fiber& each, const std::string& indent) {
        text += indent + detail::fiber_name(each) + state_of(each) + "\n";
        std::vector<const detail::frame*> stack;
        for (const detail::frame* at = each.top; at != nullptr && at != &each; at = at->parent) {
            stack.push_back(at);
        }
        for (auto at = stack.rbegin(); at != stack.rend(); ++at) {
            print_frame(**at, each, indent + "    ");
        }
        for (const detail::group_state* inner : groups_of(each)) {
            print(*inner, indent + "  + ");
        }
    }

    static std::string state_of(const detail::fiber& each) {
        if (&each == detail::this_thread.running) {
            return " (running)";
        }
        if (each.leaf == nullptr && !each.has(detail::is_parked)) {
            return each.has(detail::stop_pending) ? " (stopping)" : " (ready)";
        }
        return each.leaf != nullptr ? " (waits: " + std::string(each.leaf->name()) + ")" : " (waits)";
    }

    void print_frame(const detail::frame& at, const detail::fiber& of, const std::string& indent) {
        if (at.is_boundary()) {
            text += indent + "[" + at.table().name + "]\n";
            return;
        }
        const auto& where = static_cast<const detail::promise_base&>(at).here;
        if (where.line() == 0) {
            text += indent + (&at == of.top ? "not started\n" : "?\n");
            return;
        }
        text += indent + detail::plain_function_name(where.function_name()) + " at " + where.file_name() +
                ":" + std::to_string(where.line()) + "\n";
    }
};

}  // namespace

std::vector<any_handle> loop::all_tasks() {
    std::vector<any_handle> found;
    collect(*root_, found);
    return found;
}

std::string loop::dump_tasks() {
    tree_printer printer;
    printer.print(*root_, "");
    return std::move(printer.text);
}

}  // namespace weir
