// SPDX-License-Identifier: MIT
// The stack of awaits of a fiber: coroutines, and the boundaries between them.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>

namespace weir {
class operation;
}

namespace weir::detail {

class fiber;
struct boundary;
struct group_state;
struct scope;
struct walk;

// The next action of the trampoline after a boundary has decided: resume a coroutine, start (or
// continue with) a stop walk, or nothing, because the fiber is suspended or has ended.
//
// One word: null, a coroutine's address, or with the lowest bit set, a boundary's turn or a walk.
class next_step {
public:
    static next_step suspended() noexcept { return next_step(nullptr); }
    static next_step walk_on() noexcept { return next_step(reinterpret_cast<void*>(walking)); }
    static next_step resume(void* coroutine) noexcept { return next_step(coroutine); }
    static next_step from_word(void* word) noexcept { return next_step(word); }

    bool is_suspended() const noexcept { return word_ == nullptr; }
    bool is_coroutine() const noexcept {
        return word_ != nullptr && (reinterpret_cast<std::uintptr_t>(word_) & 1) == 0;
    }
    bool is_walk() const noexcept { return word_ == reinterpret_cast<void*>(walking); }
    bool is_boundary() const noexcept { return !is_suspended() && !is_coroutine() && !is_walk(); }
    void* word() const noexcept { return word_; }

private:
    explicit next_step(void* word) noexcept : word_(word) {}
    static constexpr std::uintptr_t walking = ~std::uintptr_t{0};
    void* word_;
};

// The actions of a boundary on its turn. Plain function pointers rather than virtual functions, so
// that a frame is two words and telling coroutine from boundary is one bit.
struct boundary_table {
    // The child below has completed, or what the boundary waits for has happened.
    next_step (*advance)(boundary&, fiber&);
    // A stop walk destroyed everything below and has arrived here.
    next_step (*stopped)(boundary&, fiber&, walk&);
    // For the task tree.
    const char* name;
    const group_state* (*group)(const boundary&) =
        nullptr;  // whose children the boundary waits for
};

// One activation: a coroutine (its promise derives from this) or a boundary.
struct frame {
    union {
        frame* parent;  // the frame that awaits this one
        operation*
            leaf;  // in the outermost frame of a fiber, which has no parent: what the fiber waits for
    };
    std::uintptr_t code = 0;  // the coroutine's address, or the boundary_table's plus one

    frame() noexcept : parent(nullptr) {}
    explicit frame(const boundary_table& table) noexcept
        : parent(nullptr), code(reinterpret_cast<std::uintptr_t>(&table) + 1) {}

    bool is_boundary() const noexcept { return (code & 1) != 0; }
    void* coroutine() const noexcept { return reinterpret_cast<void*>(code); }
    // For the trampoline: resume this coroutine, or let this boundary have its turn.
    next_step turn() const noexcept { return next_step::from_word(reinterpret_cast<void*>(code)); }
    const boundary_table& table() const noexcept {
        return *reinterpret_cast<const boundary_table*>(code - 1);
    }
};

struct boundary : frame {
    explicit boundary(const boundary_table& table) noexcept : frame(table) {}
};

// The table of a boundary class that has members advance(fiber&) and stopped(fiber&, walk&).
template <class Boundary>
inline constexpr boundary_table table_of{
    [](boundary& self, fiber& on) { return static_cast<Boundary&>(self).advance(on); },
    [](boundary& self, fiber& on, walk& stop) {
        return static_cast<Boundary&>(self).stopped(on, stop);
    },
    Boundary::boundary_name,
    [] {
        const group_state* (*group)(const boundary&) = nullptr;
        if constexpr (requires(const Boundary& self) { self.group(); }) {
            group = [](const boundary& self) -> const group_state* {
                return &static_cast<const Boundary&>(self).group();
            };
        }
        return group;
    }(),
};

// A stop in progress: where it is aimed at, or the error that clean-up has replaced it with.
struct walk {
    frame* target = nullptr;   // a scope, or the fiber's outermost frame
    std::exception_ptr error;  // set: the frames below ended with this error, not with a stop
};

// A boundary that stop requests can be aimed at (or that holds them off: a shield). A fiber's
// scopes form a chain from the innermost outwards.
struct scope : boundary {
    scope* outer = nullptr;
    fiber* where = nullptr;  // the fiber it is entered on; null before and after
    bool shielding = false;  // holds off requests from outside
    bool requested = false;  // a stop aimed at this scope waits to be delivered
    bool delivered = false;  // one has begun
    bool answered = false;   // one was answered inside: what leaves the scope may be its doing

    std::uint32_t serial =
        0;  // tells this use of the object from a later scope at the same address

    explicit scope(const boundary_table& table) noexcept : boundary(table) {}
    scope(scope&& unentered) noexcept : boundary(unentered), shielding(unentered.shielding) {}
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
};

}  // namespace weir::detail
