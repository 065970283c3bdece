// SPDX-License-Identifier: MIT
// Each loop has one engine, chosen by what its driver can do.

#include "io/driver/ring_driver.hpp"
#include "io/engine/readiness_engine.hpp"

#include <weir/error.hpp>
#include <weir/io/detail/engine.hpp>
#include <weir/loop.hpp>

namespace weir::io::detail {

namespace {

engine* make_engine(loop& home) {
    driver& own = home.get_driver();
    if (auto* ring = dynamic_cast<ring_driver*>(&own)) {
        return ring->make_engine(home);
    }
    if (auto* watching = dynamic_cast<fd_driver*>(&own)) {
        return new readiness_engine(home, *watching);
    }
    throw loop_error("the driver '" + std::string(own.name()) +
                     "' knows no file descriptors: simulated time has a simulated network");
}

class engine_service final : public loop_service {
public:
    explicit engine_service(loop& home) : own(*make_engine(home)) {}
    ~engine_service() override {
        own.loop_is_gone();
        own.release();
    }

    engine& own;
};

}  // namespace

engine& engine::current() {
    return loop::current().service<engine_service>().own;
}

bool engine::does_files_here() {
    return dynamic_cast<ring_driver*>(&loop::current().get_driver()) != nullptr &&
           current().does_files();
}

}  // namespace weir::io::detail

// Stands here because a program that uses weir::io always links this file.
std::unique_ptr<weir::driver> weir::detail::try_uring_driver() {
    return io::detail::make_uring_driver();
}
