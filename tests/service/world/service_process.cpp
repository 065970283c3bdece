// SPDX-License-Identifier: MIT
// What a run does follows from the seed, its task and its number, so the same run does the same
// wherever it runs.

#include "service_process.hpp"

#include <weir/cancel.hpp>
#include <weir/time.hpp>

#include <stdexcept>

namespace weir::service::testing {

namespace {

// Tells the judge of a run, however it ends.
class watched_run {
public:
    watched_run(environment& in, const service_process& on, const task_record& task, bool obeys)
        : world_(in), key_{task.id, task.run}, is_watched_(!on.is_dead()) {
        if (is_watched_) {
            world_.referee.begin(on.number(), task, obeys);
        }
    }
    watched_run(const watched_run&) = delete;
    watched_run& operator=(const watched_run&) = delete;
    ~watched_run() {
        if (is_watched_) {
            world_.referee.end(key_);
        }
    }

private:
    environment& world_;
    const run_key key_;
    const bool is_watched_;
};

clock::duration length_of(dice& random, bool is_calm) {
    const std::uint64_t which = random.below(100);
    if (is_calm || which < 70) {
        return random.between(1ms, 800ms);
    }
    return which < 92 ? random.between(1s, 10s) : random.between(10s, 60s);
}

void throw_failure(dice& random) {
    switch (random.below(8)) {
        case 0:
            throw permanent_failure("it can never succeed");
        case 1:
            throw postponed("not now", std::chrono::milliseconds(random.below(3000)));
        case 2:
            throw retry_later("later", std::chrono::milliseconds(random.below(3000)));
        default:
            throw std::runtime_error("it failed");
    }
}

}  // namespace

service_process::service_process(environment& in, std::size_t number,
                                 std::chrono::microseconds ahead)
    : world_(in),
      number_(number),
      ahead_(ahead),
      connection_(in, number),
      tasks_(connection_, options()) {
    add_handlers();
}

service_options service_process::options() {
    service_options made;
    made.workers = 2 + number_ % 7;
    made.lease = world_.settings.lease;
    made.heartbeat = made.lease / 5;
    made.poll = world_.settings.poll;
    made.drain_limit = 5s;
    made.kept.completed = made.kept.failed = made.kept.cancelled = world_.settings.kept;
    made.log = [this](log_level level, std::string_view text) {
        if (level >= log_level::warning && !is_dead_) {
            world_.referee.note("node " + std::to_string(number_) + ": " + std::string(text));
        }
    };
    made.wall_clock = [this] {
        return weir::detail::wall_time() + (world_.is_cluster ? ahead_ : world_.calendar_ahead);
    };
    return made;
}

void service_process::add_handlers() {
    for (const std::string key : {"", "a", "b", "c"}) {
        tasks_.handle("work." + key, [this](job& what) { return handle(what, true); });
        tasks_.handle("stubborn." + key, [this](job& what) { return handle(what, false); });
    }
    tasks_.handle("tick.", [this](job& what) { return handle(what, true); });
    tasks_.handle("tock.", [this](job& what) { return handle(what, true); });
    tasks_.handle(std::string(callback_kind), [this](job& what) { return handle(what, true); });
}

task<boost::json::value> service_process::handle(job& what, bool obeys) {
    const run_key key{what.id(), what.task().run};
    const watched_run watched(world_, *this, what.task(), obeys);
    dice random(world_.settings.seed ^
                (static_cast<std::uint64_t>(key.id.number()) * 31 + key.run));
    const clock::duration length = length_of(random, world_.is_calm);
    if (random.one_in(6)) {
        what.progress(0.5, "half");
    }
    if (random.one_in(5)) {
        auto number_of_run = [&key]() -> task<boost::json::value> { co_return key.run; };
        const boost::json::value kept = co_await what.step("first", number_of_run);
        if (!is_dead_) {
            world_.referee.step_returned(key.id, std::to_string(kept.to_number<std::uint64_t>()));
        }
    }
    if (obeys) {
        co_await sleep(length);
    } else {
        co_await shield(sleep(length));
    }
    if (random.below(100) < (world_.is_calm ? 3u : 22u)) {
        throw_failure(random);
    }
    if (!is_dead_) {
        world_.referee.succeeded(key);
    }
    co_return nullptr;
}

task<> service_process::run() {
    try {
        co_await tasks_.run();
    } catch (const std::exception& error) {
        world_.referee.fail("node " + std::to_string(number_) + " has ended by '" + error.what() +
                            "'");
    }
}

void service_process::die() {
    is_dead_ = true;
    connection_.kill();
    world_.referee.died(number_);
}

}  // namespace weir::service::testing
