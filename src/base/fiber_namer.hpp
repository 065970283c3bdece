// SPDX-License-Identifier: MIT
// Names that are made only on demand: a component that runs thousands of short-lived tasks names
// them at no cost.
#pragma once

#include <weir/detail/fiber.hpp>

#include <string>

namespace weir::detail {

// Called, on the thread it was made on, before tasks there are listed or one without a name is
// named.
class fiber_namer {
public:
    fiber_namer(const fiber_namer&) = delete;
    fiber_namer& operator=(const fiber_namer&) = delete;

    // Calls name_fiber() for the fibers that this component runs.
    virtual void name_fibers() = 0;

protected:
    fiber_namer() noexcept;
    ~fiber_namer();

private:
    friend void call_fiber_namers();
    fiber_namer* next_;
};

// Names a fiber that has no name.
void name_fiber(fiber& unnamed, const std::string& name);

}  // namespace weir::detail
