// SPDX-License-Identifier: MIT
// A node of a world: a machine on which a service runs, dies and starts anew.
#pragma once

#include "service_process.hpp"

#include <cstddef>
#include <memory>

namespace weir::service::testing {

class node {
public:
    explicit node(environment& in, std::size_t number) noexcept : world_(in), number_(number) {}
    node(const node&) = delete;
    node& operator=(const node&) = delete;

    // Null while it is down.
    const std::shared_ptr<service_process>& current() const noexcept { return current_; }
    void start();
    void kill();
    // Stops it; it drains.
    void stop();
    void set_calendar(std::chrono::microseconds ahead) noexcept;

private:
    // Ends what is left of a process.
    static task<> bury(std::shared_ptr<service_process> ended, handle<> running);
    static task<> run(std::shared_ptr<service_process> started);

    environment& world_;
    const std::size_t number_;
    std::chrono::microseconds ahead_{0};
    std::shared_ptr<service_process> current_;
    handle<> running_;
};

}  // namespace weir::service::testing
