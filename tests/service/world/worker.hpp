// SPDX-License-Identifier: MIT
// A worker program of a world: it runs tasks of the kinds 'remote.*' in sessions. Each of its calls
// goes through any node, as requests to a load balancer do.
#pragma once

#include "node.hpp"

#include <weir/sync/event.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::service::testing {

class worker {
public:
    worker(environment& in, const std::vector<std::unique_ptr<node>>& nodes, std::size_t number)
        : world_(in), nodes_(nodes), random_(in.random.split(number)), number_(number) {}
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    // Session after session, until it is stopped.
    task<> run();
    // The session ends without a word, and another begins.
    void kill() { ending_ = ending::killed, wake_.set(); }
    // It drains, and another session begins.
    void deploy() { ending_ = ending::drained, wake_.set(); }

private:
    enum class ending : unsigned char { none, killed, drained, lost };
    struct running_task {
        run_key key;
        handle<> fiber;
        bool is_cancelled = false;
    };
    using node_at_work = std::shared_ptr<service_process>;

    static constexpr clock::duration lease = 15s;
    static constexpr clock::duration margin = 3s;
    static constexpr clock::duration beat_interval = 3s;
    static constexpr clock::duration call_limit = 5s;
    static constexpr std::size_t room = 4;

    node_at_work any_node();
    task<> run_session();
    task<bool> register_session();
    task<> poll();
    task<> poll_once();
    task<> beat();
    task<> beat_once();
    task<> run_task(task_record task, bool is_certain);
    task<> settle(settlement ended);
    task<> drain();
    void start(std::vector<task_record> tasks, bool is_certain);
    void lose(ending how) {
        if (ending_ == ending::none) {
            ending_ = how;
            wake_.set();
        }
    }
    running_task* find(run_key key) noexcept;
    bool has_lease() const { return weir::now() < expires_at_ - margin; }
    template <class T, class Call>
    task<T> ask(Call call);

    environment& world_;
    const std::vector<std::unique_ptr<node>>& nodes_;
    dice random_;
    const std::size_t number_;
    std::size_t sessions_ = 0;
    std::size_t process_ = 0;  // for the judge
    std::string id_;
    clock::time_point expires_at_{};
    std::uint64_t polls_ = 0;                      // the last that was answered
    std::optional<clock::time_point> asked_at_{};  // the next one, for the first time
    ending ending_ = ending::none;
    event wake_;
    std::vector<std::unique_ptr<running_task>> running_;
};

}  // namespace weir::service::testing
