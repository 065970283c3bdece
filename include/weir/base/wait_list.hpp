// SPDX-License-Identifier: MIT
// The operations that wait for a primitive, first come, first served.
//
// The list has two parts. In front are the operations that have been granted what they wait for and
// whose fibers have not run yet; behind them those that still wait. A granted operation leaves the
// list when its fiber resumes, or when it is destroyed because a stop came first: then it passes
// the grant on. So a primitive knows every operation that will come back to it, and can tell them
// when it is destroyed. Nothing allocates; everything is O(1) per operation concerned.
#pragma once

#include <weir/awaitable.hpp>
#include <weir/base/intrusive_list.hpp>

#include <cstdint>

namespace weir::detail {

using wait_link = list_link<>;

// The two-part list, of anything that has a link.
class split_list {
public:
    constexpr split_list() noexcept : first_waiting_(&end_) { end_.link_to_self(); }
    split_list(const split_list&) = delete;
    split_list& operator=(const split_list&) = delete;

    bool is_empty() const noexcept { return end_.next() == &end_; }
    bool has_waiting() const noexcept { return first_waiting_ != &end_; }
    bool has_granted() const noexcept { return end_.next() != first_waiting_; }
    wait_link& first() const noexcept { return *end_.next(); }
    wait_link& first_waiting() const noexcept { return *first_waiting_; }
    wait_link& last() const noexcept { return *end_.previous(); }

    void append(wait_link& last) noexcept {
        last.link_before(end_);
        if (first_waiting_ == &end_) {
            first_waiting_ = &last;
        }
    }
    // Before all that wait.
    void prepend(wait_link& first) noexcept {
        first.link_before(*first_waiting_);
        first_waiting_ = &first;
    }
    // The first that waits becomes the last that is granted.
    wait_link& advance() noexcept {
        wait_link& first = *first_waiting_;
        first_waiting_ = first.next();
        return first;
    }
    void remove_granted(wait_link& gone) noexcept { gone.unlink_for_good(); }
    void remove(wait_link& gone) noexcept {
        if (first_waiting_ == &gone) {
            first_waiting_ = gone.next();
        }
        gone.unlink();
    }

private:
    wait_link end_;
    wait_link* first_waiting_;
};

enum class wait_state : unsigned char {
    idle,        // before it waits, and after the fiber has gone on
    waiting,     // in the list
    granted,     // in the list, the fiber is on its way
    refused,     // not in the list: will not get it (closed, broken); the fiber is on its way
    wrong_loop,  // never was in the list: the primitive belongs to another loop
    orphaned,    // not in the list: the primitive was destroyed
};

[[noreturn]] void throw_wait_error(wait_state state, const char* primitive);

class wait_list;

// The base of all operations that wait in a wait_list.
class listed_operation : public operation, public wait_link {
public:
    wait_state state() const noexcept { return state_; }
    fiber& waiting_fiber() const noexcept { return waiter(); }

protected:
    listed_operation() noexcept = default;
    explicit listed_operation(set_later later) noexcept : operation(later), wait_link(later) {}
    listed_operation(listed_operation&&) noexcept : operation(), wait_link() {}
    ~listed_operation() = default;

    wait_state state_ = wait_state::idle;

private:
    friend class wait_list;
    void answer(wait_state new_state, loop_core& home) noexcept {
        state_ = new_state;
        complete_on(home);
    }
};

class wait_list : public split_list {
public:
    // An operation begins to wait. False, and wrong_loop, if the list has been used by another
    // loop: a list belongs to the loop that first waited in it.
    bool enter(listed_operation& last, bool in_front = false) noexcept {
        loop_core& here = *this_thread.loop;
        if (loop_ != here.id()) [[unlikely]] {
            if (loop_ != 0) {
                last.state_ = wait_state::wrong_loop;
                return false;
            }
            bind(here);
        }
        last.state_ = wait_state::waiting;
        if (in_front) {
            prepend(last);
        } else {
            append(last);
        }
        return true;
    }
    // For an operation that waits for something else already, and continues waiting here.
    void enter_unchecked(listed_operation& last) noexcept {
        bind(last.waiter().home());
        last.state_ = wait_state::waiting;
        append(last);
    }

    // Does it belong to the loop that runs here, which is not in debug mode? Then there is nothing
    // to check.
    bool is_plain() const noexcept { return home_ == this_thread.plain_loop; }
    // Throws wrong_thread unless the one that waits first may be woken on this thread.
    void check_thread(const char* what) const {
        if (has_waiting()) {
            home_->check_thread(what);
        }
    }

    // The first that waits gets it. There must be one.
    listed_operation& grant_first() noexcept {
        listed_operation& first = at(advance());
        first.answer(wait_state::granted, *home_);
        return first;
    }
    // The same for those that need nothing of the primitive any more: they leave the list at once.
    void release_first(wait_state new_state) noexcept {
        listed_operation& first = at(first_waiting());
        remove(first);
        first.answer(new_state, *home_);
    }
    void release_waiting(wait_state new_state) noexcept {
        while (has_waiting()) {
            release_first(new_state);
        }
    }
    // Operations that were granted it do not get it after all.
    void revoke_granted(wait_state new_state) noexcept {
        while (has_granted()) {
            listed_operation& first = at(this->first());
            remove_granted(first);
            first.state_ = new_state;
        }
    }
    // The primitive is being destroyed.
    void orphan() noexcept {
        if (!is_empty()) [[unlikely]] {
            revoke_granted(wait_state::orphaned);
            release_waiting(wait_state::orphaned);
        }
    }

    static listed_operation& at(wait_link& link) noexcept {
        return static_cast<listed_operation&>(link);
    }

private:
    void bind(loop_core& home) noexcept {
        home_ = &home;
        loop_ = home.id();
    }

    loop_core* home_ = nullptr;  // the loop it belongs to; it may be gone if nothing waits
    std::uint32_t loop_ = 0;     // its id; 0: none yet
};

}  // namespace weir::detail
