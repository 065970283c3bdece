// SPDX-License-Identifier: MIT
// Makes programs smaller, for a report that a reader can follow.
//
// Compiled alone (tests/unite.cmake): other files use what it defines.

#include "program.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace model {

namespace {

// The new ids; what is not a node any more is left out.
struct numbering {
    std::vector<int> nodes;       // by old id
    std::vector<int> fibers;      // the same for first nodes of fibers only
    std::vector<int> boundaries;  // and for scopes and groups only

    static int look(const std::vector<int>& in, int id) {
        return id > 0 && static_cast<std::size_t>(id) < in.size() ? in[static_cast<std::size_t>(id)]
                                                                  : 0;
    }
    int target(int old) const { return old > 0 ? look(fibers, old) : -look(boundaries, -old); }
};

void put(std::vector<int>& into, int old, int id) {
    if (old <= 0) {
        return;
    }
    if (static_cast<std::size_t>(old) >= into.size()) {
        into.resize(static_cast<std::size_t>(old) + 1);
    }
    into[static_cast<std::size_t>(old)] = id;
}

void number(node& at, bool is_fiber, int& next, numbering& made) {
    const int old = at.id;
    at.id = ++next;
    if (is_fiber) {
        put(made.fibers, old, at.id);
    }
    if (at.what == kind::scope || at.what == kind::group) {
        put(made.boundaries, old, at.id);
    }
    for (std::size_t each = 0; each < at.parts.size(); ++each) {
        number(at.parts[each], starts_fiber(at, each), next, made);
    }
}

bool needs_target(kind what) {
    return what == kind::await_handle || what == kind::wait_handle || what == kind::shield_handle ||
           what == kind::cancel || what == kind::extend || what == kind::group_spawn;
}

// True if nodes have gone, so that ids have to be given again.
bool refer(node& at, const numbering& made) {
    at.target = made.target(at.target);
    for (int& each : at.targets) {
        each = made.target(each);
    }
    std::erase(at.targets, 0);
    bool changed = false;
    if (needs_target(at.what) && at.target == 0) {
        changed = !at.parts.empty();
        at.what = kind::sequence;
        at.parts.clear();
    }
    for (node& each : at.parts) {
        changed = refer(each, made) || changed;
    }
    return changed;
}

node* find(node& at, int id) {
    if (at.id == id) {
        return &at;
    }
    for (node& each : at.parts) {
        if (node* found = find(each, id)) {
            return found;
        }
    }
    return nullptr;
}

bool may_drop_part(const node& of, std::size_t at) {
    switch (of.what) {
        case kind::sequence:
            return true;
        case kind::gather:
        case kind::gather_settled:
        case kind::race:
            return of.parts.size() > 1;
        case kind::group:
            return at > 0;
        default:
            return false;
    }
}

class smaller {
public:
    explicit smaller(const program& than) : than_(than) {}

    std::vector<program> all() {
        const int nodes = count_nodes(than_);
        for (std::size_t each = 0; each < than_.events.size(); ++each) {
            program made = than_;
            made.events.erase(made.events.begin() + static_cast<std::ptrdiff_t>(each));
            add(std::move(made));
        }
        for (int id = 1; id <= nodes; ++id) {
            replace_by_part(id);
        }
        for (int id = 1; id <= nodes; ++id) {
            simplify(id);
        }
        for (std::size_t each = 0; each < than_.events.size(); ++each) {
            round_event(each);
        }
        return std::move(found_);
    }

private:
    void add(program&& made) {
        renumber(made);
        found_.push_back(std::move(made));
    }
    void change(int id, const std::function<void(node&)>& how) {
        program made = than_;
        how(*find(made.main, id));
        add(std::move(made));
    }
    void replace_by_part(int id) {
        program copy = than_;
        const node& at = *find(copy.main, id);
        if (at.what != kind::sequence || !at.parts.empty()) {
            change(id, [](node& changed) { changed = {.what = kind::sequence, .id = changed.id}; });
        }
        for (std::size_t each = 0; each < at.parts.size(); ++each) {
            if (may_drop_part(at, each)) {
                change(id, [each](node& changed) {
                    changed.parts.erase(changed.parts.begin() + static_cast<std::ptrdiff_t>(each));
                });
            }
            change(id, [each](node& changed) {
                node part = std::move(changed.parts[each]);
                if (part.what != kind::scope && part.what != kind::group) {
                    part.id = changed.id;  // it is the fiber's first node now
                }
                changed = std::move(part);
            });
        }
    }
    void simplify(int id) {
        program copy = than_;
        const node& at = *find(copy.main, id);
        if (at.reason != 0) {
            change(id, [](node& changed) { changed.reason = 0; });
        }
        if (at.variant != 0 && at.what != kind::intercept) {
            change(id, [](node& changed) { changed.variant = 0; });
        }
        if (at.targets.size() > 1) {
            change(id, [](node& changed) { changed.targets.pop_back(); });
        }
        if (at.time % 1'000'000 != 0) {
            change(id, [](node& changed) {
                changed.time = (changed.time / 1'000'000 + 1) * 1'000'000;
            });
        }
    }
    void round_event(std::size_t index) {
        if (than_.events[index].reason != 0) {
            program made = than_;
            made.events[index].reason = 0;
            add(std::move(made));
        }
        if (than_.events[index].time % 1'000'000 != 0) {
            program made = than_;
            std::int64_t& time = made.events[index].time;
            time = (time / 1'000'000 + 1) * 1'000'000;
            add(std::move(made));
        }
    }

    const program& than_;
    std::vector<program> found_;
};

}  // namespace

void renumber(program& changed) {
    for (bool again = true; again;) {
        numbering made;
        int next = 0;
        number(changed.main, true, next, made);
        again = refer(changed.main, made);
        for (event& each : changed.events) {
            each.target = made.target(each.target);
        }
        std::erase_if(changed.events, [](const event& each) { return each.target == 0; });
    }
}

std::vector<program> smaller_programs(const program& than) {
    return smaller(than).all();
}

}  // namespace model
