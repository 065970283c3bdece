// SPDX-License-Identifier: MIT
// Draws schedules. Uniform choice finds most races; priorities find those that need one fiber to be
// held back over many steps of the others (Burckhardt and others, "A randomized scheduler with
// probabilistic guarantees of finding bugs"). A fiber's priority is drawn anew every sixteenth step
// on average, and the fiber at the head of the queue is passed over a limited number of times, so
// that programs that poll still end. Callbacks are never moved: their order is part of their
// contract.

#include "core/debug/explorer.hpp"

#include <algorithm>

namespace weir::detail {

namespace {

constexpr std::uint64_t widest = 64;          // candidates looked at
constexpr unsigned most_passed_over = 200;    // then the oldest has its turn
constexpr std::uint64_t redraws_one_in = 16;  // steps after which a priority changes, on average
constexpr std::uint64_t short_budget_one_in = 2;  // steps that begin with a short budget
constexpr std::uint64_t short_budgets = 3;

}  // namespace

explorer::explorer(std::uint64_t seed) noexcept : random_(random_source(seed).next()) {
    random_.next();
    if (seed == 0) {
        return;
    }
    const std::uint64_t kind = (seed - 1) % 4;
    style_ = kind % 2 == 0 ? style::random : style::priorities;
    forces_yields_ = kind >= 2;
}

void explorer::become_ordinary() noexcept {
    style_ = style::ordinary;
    forces_yields_ = false;
}

const char* explorer::name() const noexcept {
    switch (style_) {
        case style::ordinary:
            return "first in, first out";
        case style::random:
            return forces_yields_ ? "random, with forced yields" : "random";
        case style::priorities:
            return forces_yields_ ? "priorities, with forced yields" : "priorities";
    }
    return "";
}

int explorer::budget() noexcept {
    if (forces_yields_ && random_.next_below(short_budget_one_in) == 0) {
        return static_cast<int>(random_.next_below(short_budgets));
    }
    return operations_per_step;
}

// A flag in each fiber identifies it, since addresses are reused.
explorer::known_fiber& explorer::know(fiber& seen) {
    known_fiber& known = known_[&seen];
    if (!seen.has(is_numbered)) {
        seen.raise(is_numbered);
        known.number = ++fibers_seen_;
        known.priority = static_cast<std::uint32_t>(random_.next_below(UINT32_MAX));
    }
    return known;
}

ready_item& explorer::take(ready_queue& ready) {
    if (++steps_ == most_steps && on_too_many_steps) {
        on_too_many_steps();
    }
    ready_item** const first = ready.first_place();
    std::uint64_t candidates = 0;
    for (ready_item* each = *first;
         each != nullptr && candidates < widest && (each->flags & is_callback) == 0;
         each = each->next) {
        ++candidates;
    }
    ready_item** place = first;
    if (candidates > 1 && style_ != style::ordinary) {
        oldest_passed_over_ = oldest_ == *first ? oldest_passed_over_ + 1 : 0;
        oldest_ = *first;
        if (oldest_passed_over_ < most_passed_over) {
            place = style_ == style::random ? choose_random(first, candidates)
                                            : choose_by_priority(first, candidates);
        }
    }
    if (*place == oldest_) {
        oldest_ = nullptr;
    }
    note_step(**place);
    return ready.take(place);
}

ready_item** explorer::choose_random(ready_item** place, std::uint64_t candidates) noexcept {
    for (std::uint64_t skip = random_.next_below(candidates); skip > 0; --skip) {
        place = &(*place)->next;
    }
    return place;
}

ready_item** explorer::choose_by_priority(ready_item** first, std::uint64_t candidates) {
    ready_item** best = first;
    known_fiber* best_known = &know(static_cast<fiber&>(**first));
    ready_item** place = &(*first)->next;
    for (std::uint64_t left = candidates - 1; left > 0; --left, place = &(*place)->next) {
        known_fiber* known = &know(static_cast<fiber&>(**place));
        if (known->priority > best_known->priority) {
            best = place;
            best_known = known;
        }
    }
    if (random_.next_below(redraws_one_in) == 0) {
        best_known->priority = static_cast<std::uint32_t>(random_.next_below(UINT32_MAX));
    }
    return best;
}

void explorer::note_step(ready_item& chosen) {
    const std::uint32_t number =
        (chosen.flags & is_callback) != 0 ? 0 : know(static_cast<fiber&>(chosen)).number;
    fingerprint_ = random_source(fingerprint_ ^ number).next();
    if (on_step) {
        on_step(steps_, number, chosen);
    }
}

}  // namespace weir::detail
