// SPDX-License-Identifier: MIT
// Schedule exploration: which of the ready fibers runs next, drawn from a seed. Only loops that
// were given one, and tests, have it.
#pragma once

#include <weir/base/random.hpp>
#include <weir/detail/fiber.hpp>
#include <weir/detail/loop_core.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace weir::detail {

// Every choice depends on the seed and on the program alone, never on addresses or time, so that a
// schedule can be replayed in another process.
class explorer {
public:
    // Seed 0 keeps the ordinary order, first in, first out. The others take turns among: uniformly
    // random; by priorities that change now and then, which starves fibers for long stretches; and
    // both again with operations that are made to yield before they take effect.
    explicit explorer(std::uint64_t seed) noexcept;

    // Takes the item that is to run next out of the queue, which is not empty.
    ready_item& take(ready_queue& ready);
    // How many operations may complete at once in the step that begins.
    int budget() noexcept;
    bool shuffles() const noexcept { return style_ != style::ordinary; }
    // The generator of all choices.
    random_source& random() noexcept { return random_; }
    // From here on the ordinary order.
    void become_ordinary() noexcept;
    const char* name() const noexcept;

    std::uint64_t steps() const noexcept { return steps_; }
    // A number over all steps so far: two runs that agree in it ran the same schedule.
    std::uint64_t fingerprint() const noexcept { return fingerprint_; }

    // Called before each step with the number of the fiber in order of appearance (0: a callback).
    std::function<void(std::uint64_t step, std::uint32_t number, ready_item&)> on_step;
    // Called once, when so many steps have been made.
    std::uint64_t most_steps = UINT64_MAX;
    std::function<void()> on_too_many_steps;

private:
    enum class style : unsigned char { ordinary, random, priorities };
    struct known_fiber {
        std::uint32_t number = 0;
        std::uint32_t priority = 0;
    };

    known_fiber& know(fiber& seen);
    ready_item** choose_random(ready_item** place, std::uint64_t candidates) noexcept;
    ready_item** choose_by_priority(ready_item** first, std::uint64_t candidates);
    void note_step(ready_item& chosen);

    random_source random_;
    style style_ = style::ordinary;
    bool forces_yields_ = false;
    std::uint32_t fibers_seen_ = 0;
    std::unordered_map<const fiber*, known_fiber> known_;
    const ready_item* oldest_ = nullptr;  // at the head of the queue for so many choices
    unsigned oldest_passed_over_ = 0;
    std::uint64_t steps_ = 0;
    std::uint64_t fingerprint_ = 0;
};

}  // namespace weir::detail
