// SPDX-License-Identifier: MIT
// Names that are made only when somebody asks: who runs thousands of short-lived tasks names them
// all at no cost.
#pragma once

#include <weir/detail/fiber.hpp>

#include <string>

namespace weir::detail {

// Asked, on the thread it was made on, before tasks there are listed or one without a name is
// named.
class fiber_namer {
public:
    fiber_namer(const fiber_namer&) = delete;
    fiber_namer& operator=(const fiber_namer&) = delete;

    // Calls name_fiber() for those it knows.
    virtual void name_fibers() = 0;

protected:
    fiber_namer() noexcept;
    ~fiber_namer();

private:
    friend void ask_fiber_namers();
    fiber_namer* next_;
};

// Unless it has a name.
void name_fiber(fiber& which, const std::string& name);
void ask_fiber_namers();
// As it is known now: its own name, or a number.
std::string known_fiber_name(fiber& of);

}  // namespace weir::detail
