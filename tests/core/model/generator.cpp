// SPDX-License-Identifier: MIT
// Makes random programs. First the tree, then what refers to other nodes.
//
// A program must end. So a fiber awaits the handles of fibers that come after it in the text only,
// or, in other programs, of those that are complete before it in the text: neither allows cycles.
//
// Compiled alone (tests/unite.cmake): other files use what it defines.

#include "program.hpp"

#include <weir/base/random.hpp>

#include <algorithm>
#include <iterator>

namespace model {

namespace {

class generator {
public:
    explicit generator(std::uint64_t seed)
        : random_(seed),
          is_contended_(one_in(6)),
          is_coarse_(is_contended_ ? !one_in(4) : one_in(6)),
          lock_(below(3)),
          size_left_(4 + below(is_coarse_ ? 14 : 26)) {}

    program make() {
        program made;
        if (is_contended_) {
            made.main.what = kind::gather_settled;
            for (int left = 3 + below(3); left > 0; --left) {
                made.main.parts.push_back(one_in(3) ? work() : contender());
            }
        } else {
            made.main = sequence(2 + below(3));
        }
        for (int left = 1 + below(is_contended_ ? 6 : 3); left > 0; --left) {
            made.events.push_back({some_time(is_contended_ ? 40 : 70), 1, some_reason()});
        }
        int last = 0;
        number(made.main, last);
        awaits_later_ones_ = one_in(2);
        list(made.main, 0);
        refer(made.main, 0);
        for (event& each : made.events) {
            each.target = any_target();
        }
        renumber(made);
        return made;
    }

private:
    struct fiber_place {
        int first;  // the ids of its nodes, those of fibers below it included
        int last;
        bool has_handle;
    };

    // Variants of cancel and await_handle whose target is not drawn.
    static constexpr int of_own_fiber = 1;
    static constexpr int of_the_one_before = 2;

    int below(int end) {
        return static_cast<int>(random_.next_below(static_cast<std::uint64_t>(end)));
    }
    bool one_in(int count) { return below(count) == 0; }
    int some_reason() { return one_in(3) ? 0 : ++last_reason_; }
    // Random to the nanosecond, so that no two are equal, or one of a few.
    std::int64_t some_time(int milliseconds) {
        if (is_coarse_) {
            constexpr int step = 5;
            return (1 + below(milliseconds / step)) * std::int64_t{step} * 1'000'000;
        }
        return 1 + static_cast<std::int64_t>(
                       random_.next_below(static_cast<std::uint64_t>(milliseconds) * 1'000'000));
    }

    // ---- the tree -------------------------------------------------------------------------------

    node leaf() {
        node made;
        const int choice = is_contended_ && one_in(3) ? 53 + below(9) : below(100);
        if (choice < 53) {
            made.what = kind::sleep;
            made.time = some_time(one_in(8) ? 1000 : 20);
        } else if (choice < 62) {
            made.what = one_in(2) ? kind::put : kind::get;
            made.time = some_time(one_in(8) ? 1000 : 40);
        } else if (choice < 68) {
            made.what = kind::yield;
        } else if (choice < 74) {
            made.what = kind::fail;
        } else if (choice < 84) {
            made.what = kind::await_handle;
            made.time = one_in(4) ? some_time(30) : 0;
        } else if (choice < 87) {
            made.what = kind::wait_handle;
        } else if (choice < 90) {
            made.what = kind::shield_handle;
        } else if (choice < 93) {
            made.what = kind::gather_handles;
            made.variant = one_in(4) ? 1 : 0;
        } else if (choice < 94) {
            made.what = kind::uncancel;
        } else if (choice < 96) {
            made.what = kind::extend;
            made.time = some_time(30);
        } else {
            // At a time of its own: with many ready fibers there are too many right traces.
            made.what = kind::sequence;
            made.parts.push_back({.what = kind::sleep, .time = some_time(20)});
            made.parts.push_back({.what = kind::cancel, .reason = some_reason()});
            if (one_in(3)) {  // with a request pending it awaits another task
                made.parts.back().variant = of_own_fiber;
                made.parts.push_back({.what = kind::await_handle});
            }
        }
        return made;
    }
    node failing_soon() {
        node made{.what = kind::sequence};
        made.parts.push_back({.what = kind::sleep, .time = some_time(20)});
        made.parts.push_back({.what = kind::fail});
        return made;
    }
    node sequence(int count) {
        node made{.what = kind::sequence};
        for (; count > 0; --count) {
            made.parts.push_back(tree());
        }
        return made;
    }
    // Something that takes its time.
    node work() {
        if (one_in(6)) {
            return failing_soon();
        }
        return one_in(3) ? sequence(2 + below(2)) : tree();
    }
    // Sooner or later it wants the lock that most want.
    node contender() {
        node wants{.what = kind::lock, .time = some_time(40), .variant = lock_};
        wants.parts.push_back(one_in(2) ? leaf()
                                        : node{.what = kind::sleep, .time = some_time(20)});
        if (one_in(2)) {
            return wants;
        }
        node made{.what = kind::sequence};
        made.parts.push_back({.what = kind::sleep, .time = some_time(20)});
        made.parts.push_back(std::move(wants));
        return made;
    }
    // Clean-up waits most of the time, and rarely fails.
    node cleanup() {
        if (one_in(5)) {
            return failing_soon();
        }
        if (one_in(3)) {
            return work();
        }
        return {.what = kind::sleep, .time = some_time(20)};
    }

    node tree() {
        --size_left_;
        if (size_left_ <= 0) {
            return leaf();
        }
        static constexpr kind inner[] = {
            kind::sequence,  kind::sequence,       kind::attempt,     kind::attempt,
            kind::timeout,   kind::timeout,        kind::scope,       kind::scope,
            kind::shield,    kind::finally,        kind::finally,     kind::with,
            kind::defer,     kind::settle,         kind::intercept,   kind::intercept,
            kind::catchable, kind::spawn,          kind::spawn,       kind::group,
            kind::group,     kind::group,          kind::group_spawn, kind::gather,
            kind::gather,    kind::gather_settled, kind::race,        kind::lock,
            kind::lock,      kind::generate};
        if (one_in(3)) {
            return leaf();
        }
        node made{.what = is_contended_ && one_in(3)
                              ? kind::lock
                              : inner[static_cast<std::size_t>(below(std::size(inner)))]};
        switch (made.what) {
            case kind::sequence:
                return sequence(2 + below(2));
            case kind::attempt:
                made.variant = below(2);
                made.parts.push_back(work());
                break;
            case kind::timeout:
                made.time = one_in(20) ? 0 : some_time(40);
                made.variant = one_in(3) ? 1 : 0;
                made.parts.push_back(work());
                break;
            case kind::lock:
                made.time = some_time(one_in(8) ? 1000 : 40);
                made.variant = one_in(3) ? below(3) : lock_;
                made.parts.push_back(work());
                break;
            case kind::generate:
                made.variant = below(4);
                for (int left = 2 * (1 + below(2)); left > 0; --left) {
                    made.parts.push_back(work());
                }
                made.parts.push_back(cleanup());
                break;
            case kind::scope:
                made.time = one_in(2) ? 0 : some_time(40);
                made.variant = one_in(3) ? 1 : 0;
                made.parts.push_back(work());
                break;
            case kind::finally:
            case kind::defer:
                made.parts.push_back(work());
                made.parts.push_back(cleanup());
                break;
            case kind::with:
                made.parts.push_back(one_in(3) ? cleanup() : node{.what = kind::yield});
                made.parts.push_back(work());
                made.parts.push_back(cleanup());
                break;
            case kind::intercept:
                made.variant = below(4);
                made.parts.push_back(work());
                if (made.variant == 1 || made.variant == 2) {
                    made.parts.push_back(leaf());
                }
                break;
            case kind::catchable:
                made.variant = below(3);
                made.parts.push_back(work());
                break;
            case kind::group:
                made.variant = (one_in(4) ? 1 : 0) + (one_in(5) ? 2 : 0);
                [[fallthrough]];
            case kind::gather:
            case kind::gather_settled:
            case kind::race:
                for (int left = 1 + below(3); left > 0; --left) {
                    made.parts.push_back(work());
                }
                break;
            case kind::spawn:
                made.variant = one_in(5) ? 1 : 0;
                made.parts.push_back(work());
                if (one_in(2)) {
                    node both{.what = kind::sequence};
                    both.parts.push_back(std::move(made));
                    both.parts.push_back(
                        {.what = kind::await_handle, .variant = of_the_one_before});
                    return both;
                }
                break;
            default:  // those with one part
                made.parts.push_back(work());
                break;
        }
        return made;
    }

    // ---- references -----------------------------------------------------------------------------

    static void number(node& at, int& last) {
        at.id = ++last;
        for (node& each : at.parts) {
            number(each, last);
        }
    }
    static int last_id(const node& of) {
        return of.parts.empty() ? of.id : last_id(of.parts.back());
    }
    void list(const node& at, int enclosing_fiber) {
        if (enclosing_fiber == 0) {
            fibers_.push_back({at.id, last_id(at), true});
        }
        if (at.what == kind::scope || at.what == kind::group) {
            boundaries_.push_back(at.id);
        }
        if (at.what == kind::scope) {
            scopes_.push_back(at.id);
        }
        for (std::size_t each = 0; each < at.parts.size(); ++each) {
            const node& part = at.parts[each];
            if (starts_fiber(at, each)) {
                fibers_.push_back({part.id, last_id(part),
                                   at.what == kind::spawn || at.what == kind::group ||
                                       at.what == kind::group_spawn});
            }
            list(part, 1);
        }
    }
    int any_target() {
        const int choice = below(static_cast<int>(fibers_.size() + boundaries_.size()));
        if (one_in(4)) {
            return 1;
        }
        return choice < static_cast<int>(fibers_.size())
                   ? fibers_[static_cast<std::size_t>(choice)].first
                   : -boundaries_[static_cast<std::size_t>(choice) - fibers_.size()];
    }
    // A fiber that may be awaited here; 0 if there is none.
    int some_handle(int own_fiber) {
        std::vector<int> possible;
        for (const fiber_place& each : fibers_) {
            const bool is_later = each.first > own_fiber;
            const bool is_complete =
                each.first > own_fiber ? is_below(each, own_fiber) : each.last < own_fiber;
            if (each.has_handle && (awaits_later_ones_ ? is_later : is_complete)) {
                possible.push_back(each.first);
            }
        }
        return possible.empty()
                   ? 0
                   : possible[static_cast<std::size_t>(below(static_cast<int>(possible.size())))];
    }
    bool is_below(const fiber_place& inner, int own_fiber) const {
        for (const fiber_place& each : fibers_) {
            if (each.first == own_fiber) {
                return inner.first > own_fiber && inner.last <= each.last;
            }
        }
        return false;
    }

    // The targets of nodes that were made for a certain one, which is known now.
    void refer_to_known(node& in, int own_fiber) {
        for (std::size_t each = 0; each < in.parts.size(); ++each) {
            node& part = in.parts[each];
            if (part.what == kind::cancel && part.variant == of_own_fiber) {
                part.target = own_fiber;
                part.variant = 0;
            } else if (part.what == kind::await_handle && part.variant == of_the_one_before) {
                part.target = in.parts[each - 1].parts[0].id;
                part.variant = 0;
            }
        }
    }
    void refer(node& at, int own_fiber) {
        if (own_fiber == 0) {
            own_fiber = at.id;
        }
        refer_to_known(at, own_fiber);
        switch (at.what) {
            case kind::await_handle:
            case kind::wait_handle:
            case kind::shield_handle:
                at.target = at.target != 0 ? at.target : some_handle(own_fiber);
                break;
            case kind::gather_handles:
                for (int left = 1 + below(3); left > 0; --left) {
                    if (const int target = some_handle(own_fiber); target != 0) {
                        at.targets.push_back(target);
                    }
                }
                break;
            case kind::cancel:
                at.target = at.target != 0 ? at.target : any_target();
                break;
            case kind::extend:
                at.target = scopes_.empty() ? 0
                                            : -scopes_[static_cast<std::size_t>(
                                                  below(static_cast<int>(scopes_.size())))];
                break;
            case kind::group_spawn:
                at.target = groups_.empty() ? 0
                                            : -groups_[static_cast<std::size_t>(
                                                  below(static_cast<int>(groups_.size())))];
                break;
            default:
                break;
        }
        if (at.what == kind::group) {
            groups_.push_back(at.id);
        }
        for (std::size_t each = 0; each < at.parts.size(); ++each) {
            refer(at.parts[each], starts_fiber(at, each) ? at.parts[each].id : own_fiber);
        }
        if (at.what == kind::group) {
            groups_.pop_back();
        }
        if (at.target == 0 && (at.what == kind::await_handle || at.what == kind::wait_handle ||
                               at.what == kind::shield_handle || at.what == kind::cancel ||
                               at.what == kind::extend)) {
            at.what = kind::sleep;
            at.time = some_time(20);
        } else if (at.target == 0 && at.what == kind::group_spawn) {
            at.what = kind::spawn;
        }
    }

    weir::detail::random_source random_;
    bool is_contended_;  // many of its fibers want the same lock, or the queue
    bool is_coarse_;     // times are equal more often than not
    int lock_;           // the one that most want
    int size_left_;
    int last_reason_ = 100;
    bool awaits_later_ones_ = false;
    std::vector<fiber_place> fibers_;
    std::vector<int> boundaries_;  // scopes and groups
    std::vector<int> scopes_;
    std::vector<int> groups_;  // around the node that is looked at
};

}  // namespace

program make_program(std::uint64_t seed) {
    return generator(seed).make();
}

}  // namespace model
