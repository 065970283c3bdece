// SPDX-License-Identifier: MIT
// A driver that carries out operations itself, instead of telling when they can be.
#pragma once

#include <weir/driver.hpp>
#include <weir/io/detail/engine.hpp>

namespace weir::io::detail {

class ring_driver : public fd_driver {
public:
    virtual engine* make_engine(const weir::detail::loop_core& home) = 0;
};

}  // namespace weir::io::detail
