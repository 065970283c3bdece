// SPDX-License-Identifier: MIT
// Each loop has one engine, created on first use and chosen by the capabilities of the loop's
// driver.

#include "io/engine/engine.hpp"

#include "io/engine/epoll_engine.hpp"

#include <weir/error.hpp>
#include <weir/io/uring.hpp>
#include <weir/loop.hpp>

namespace weir::io::detail {

namespace {

engine* make_engine(loop& home) {
    driver& used = home.get_driver();
    if (auto* completing = dynamic_cast<completion_driver*>(&used)) {
        return completing->make_engine(home);
    }
    if (auto* watching = dynamic_cast<fd_driver*>(&used)) {
        return new epoll_engine(home, *watching);
    }
    throw loop_error("the driver '" + std::string(used.name()) +
                     "' has no file descriptors: use the simulated network with simulated time");
}

class engine_service final : public loop_service {
public:
    explicit engine_service(loop& home) : own(*make_engine(home)) {}
    ~engine_service() override {
        own.loop_ended();
        own.release();
    }

    engine& own;
};

}  // namespace

engine& engine::current() {
    return loop::current().service<engine_service>().own;
}

bool engine::current_does_files() {
    return dynamic_cast<completion_driver*>(&loop::current().get_driver()) != nullptr &&
           current().does_files();
}

}  // namespace weir::io::detail

// Core calls this in programs that are linked with weir::io.
std::unique_ptr<weir::driver> weir::detail::try_uring_driver() {
    return io::make_uring_driver();
}
