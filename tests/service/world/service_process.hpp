// SPDX-License-Identifier: MIT
// One start of a service in a world, with handlers of random length and outcome.
#pragma once

#include "faulty_store.hpp"

#include <weir/service/service.hpp>

#include <cstddef>

namespace weir::service::testing {

class service_process {
public:
    service_process(environment& in, std::size_t number, std::chrono::microseconds ahead);
    service_process(const service_process&) = delete;
    service_process& operator=(const service_process&) = delete;

    bool is_dead() const noexcept { return is_dead_; }
    // For clients: it may be draining.
    bool is_up() const noexcept { return !is_dead_ && !has_ended_; }
    std::size_t number() const noexcept { return number_; }
    void set_ahead(std::chrono::microseconds ahead) noexcept { ahead_ = ahead; }
    faulty_store& connection() noexcept { return connection_; }
    service& tasks() noexcept { return tasks_; }

    task<> run();
    void end() noexcept { has_ended_ = true; }
    // From now on it writes nothing, and what it runs has ended.
    void die();

private:
    service_options options();
    task<boost::json::value> handle(job& what, bool obeys);
    void add_handlers();

    environment& world_;
    const std::size_t number_;
    std::chrono::microseconds ahead_;
    bool is_dead_ = false;
    bool has_ended_ = false;
    faulty_store connection_;
    service tasks_;
};

}  // namespace weir::service::testing
