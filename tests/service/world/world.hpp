// SPDX-License-Identifier: MIT
// A world: nodes, workers and clients that share a store, and the trouble that they meet.
#pragma once

#include "broken_store.hpp"
#include "worker.hpp"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace weir::service::testing {

class world {
public:
    explicit world(const plan& how);
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    task<> run();
    void add_to(verdict& result) const;

private:
    using node_at_work = std::shared_ptr<service_process>;

    task<> set_up();
    task<> live();
    task<> calm_down();
    task<> complain_of(task_id unended);
    task<> end();
    task<> check();
    task<> check_again_and_again();
    // Returns then, or at a violation.
    task<> wait(clock::duration length);

    // ---- clients
    task<> submit_again_and_again();
    task<> submit(new_task task, bool is_repeated);
    new_task any_task();
    node_at_work any_node();
    task<> cancel(task_id id);
    task<> retry(task_id id);
    task<> change_limits(std::string queue);
    task<> pause_for_a_while(std::string queue);
    queue_limits any_limits(std::size_t queue);

    // ---- trouble
    task<> make_trouble();
    void trouble_once();
    task<> spoil(node_at_work which, weather to, clock::duration length);
    task<> take_store_away(clock::duration length);
    void jump();
    void ask_as_client();
    weather any_weather();
    std::string any_queue() { return "q" + std::to_string(at_.random.below(4)); }

    environment at_;
    broken_store broken_;
    database_clock clocked_;
    std::vector<std::unique_ptr<node>> nodes_;
    std::vector<std::unique_ptr<worker>> workers_;
    std::vector<handle<>> worker_runs_;
    std::set<std::string> limits_under_change_;  // queues
    std::uint64_t keys_ = 0;
    dice expiries_;
};

}  // namespace weir::service::testing
