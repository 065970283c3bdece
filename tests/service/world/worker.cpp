// SPDX-License-Identifier: MIT
// A session keeps the rules of workers: its lease counts from before the call that renewed it, it
// stops all runs before the lease ends, it repeats a poll whose answer was lost under the same
// number, and it lists a run until its end is written.

#include "worker.hpp"

#include <weir/timeout.hpp>

#include <algorithm>

namespace weir::service::testing {

worker::node_at_work worker::any_node() {
    std::vector<node_at_work> up;
    for (const auto& each : nodes_) {
        if (each->current() != nullptr && each->current()->connection().is_registered()) {
            up.push_back(each->current());
        }
    }
    return up.empty() ? nullptr : up[random_.below(up.size())];
}

// Throws store_unavailable if there is no answer.
template <class T, class Call>
task<T> worker::ask(Call call) {
    const node_at_work through = any_node();
    if (through == nullptr) {
        co_await sleep(500ms);
        throw store_unavailable("no node is up");
    }
    bool is_late = false;
    try {
        T answer = co_await weir::timeout(
            call_limit, call(through->connection(), through->tasks().moment_now()));
        co_return answer;
    } catch (const timed_out&) {
        is_late = true;
    }
    throw store_unavailable(is_late ? "no answer" : "");
}

task<> worker::run() {
    for (;;) {
        co_await run_session();
        co_await sleep(random_.between(100ms, 3s));
    }
}

task<> worker::run_session() {
    id_ = "worker " + std::to_string(number_) + "." + std::to_string(++sessions_);
    world_.number_of(id_);
    process_ = ++world_.processes;
    ending_ = ending::none;
    wake_.clear();
    polls_ = 0;
    asked_at_.reset();
    const bool is_registered = co_await register_session();
    if (!is_registered) {
        co_return;
    }
    world_.referee.note(id_ + " is process " + std::to_string(process_));
    const handle<> parts[] = {weir::spawn(poll()), weir::spawn(beat())};
    auto end = [this, &parts](weir::ending) -> task<> {
        world_.referee.died(process_);
        for (const handle<>& each : parts) {
            each.cancel();
            co_await each.wait();
        }
        const std::vector<std::unique_ptr<running_task>> left = std::move(running_);
        running_.clear();
        for (const auto& each : left) {
            each->fiber.cancel();
            co_await each->fiber.wait();
        }
    };
    auto live = [this]() -> task<> {
        while (ending_ == ending::none) {
            wake_.clear();
            co_await wake_.wait();
        }
        if (ending_ == ending::drained) {
            co_await drain();
        }
    };
    co_await finally(live(), end);
}

task<bool> worker::register_session() {
    const clock::time_point begun = weir::now();
    try {
        auto call = [this](store& to, moment now) {
            worker_record made;
            made.id = id_;
            made.name = "worker";
            made.kinds = {"remote.", "remote.a", "remote.b", "remote.c"};
            made.started_at = now.at;
            made.expires_at = now.steady + std::chrono::microseconds(lease / 1us);
            return to.add_worker(std::move(made), now);
        };
        const bool is_added = co_await ask<bool>(call);
        expires_at_ = begun + lease;
        co_return is_added;
    } catch (const store_unavailable&) {
        // The next session has another name.
    }
    co_return false;
}

task<> worker::poll() {
    for (;;) {
        if (running_.size() < room && ending_ == ending::none) {
            bool is_done = false;
            try {
                co_await poll_once();
                is_done = true;
            } catch (const store_unavailable&) {
                // Again, with the same number.
            }
            co_await sleep(is_done ? random_.between(100ms, 1s) : random_.between(50ms, 500ms));
        } else {
            co_await sleep(200ms);
        }
    }
}

task<> worker::poll_once() {
    using verdict = worker_claim_answer::verdict;
    const std::uint64_t number = polls_ + 1;
    const clock::time_point asked_at = asked_at_.emplace(asked_at_.value_or(weir::now()));
    auto call = [this, number](store& to, moment now) {
        std::vector<worker_claim> polls(1);
        polls[0].worker = id_;
        polls[0].poll = number;
        polls[0].free = room - std::min(room, running_.size());
        return to.claim_for_workers(std::move(polls), now);
    };
    worker_claims claims = co_await ask<worker_claims>(call);
    worker_claim_answer& answer = claims.answers.at(0);
    if (answer.what == verdict::gone) {
        lose(ending::lost);
    } else if (answer.what == verdict::outdated) {
        ++polls_;
        asked_at_.reset();
    } else if (answer.what != verdict::draining) {
        if (!answer.tasks.empty() || random_.one_in(2)) {
            ++polls_;
            asked_at_.reset();
        }
        // A heartbeat may have given back what came too late.
        start(std::move(answer.tasks), weir::now() < asked_at + worker_stuck_after);
    }
}

void worker::start(std::vector<task_record> tasks, bool is_certain) {
    for (task_record& each : tasks) {
        const run_key key{each.id, each.run};
        if (ending_ == ending::none && has_lease() && find(key) == nullptr) {
            auto& added = running_.emplace_back(std::make_unique<running_task>());
            added->key = key;
            added->fiber = weir::spawn(run_task(std::move(each), is_certain));
        }
    }
}

worker::running_task* worker::find(run_key key) noexcept {
    const auto found = std::ranges::find(running_, key, [](const auto& each) { return each->key; });
    return found == running_.end() ? nullptr : found->get();
}

task<> worker::run_task(task_record task, bool is_certain) {
    const run_key key{task.id, task.run};
    world_.referee.begin(process_, task, is_certain);
    dice random(world_.settings.seed ^
                (static_cast<std::uint64_t>(key.id.number()) * 37 + key.run));
    const clock::time_point until =
        weir::now() + random.between(10ms, world_.is_calm || !random.one_in(5) ? 1s : 20s);
    while (weir::now() < until && !find(key)->is_cancelled) {
        co_await sleep(std::min<clock::duration>(until - weir::now(), 500ms));
    }
    settlement ended;
    ended.key = key;
    ended.failures = task.failures;
    if (find(key)->is_cancelled) {
        ended.state = task_state::cancelled;
        ended.attempt = attempt_end::cancelled;
    } else if (random.one_in(world_.is_calm ? 40 : 6)) {
        ended.attempt = attempt_end::failed;
        ended.error = "it failed";
        ++ended.failures;
        ended.state =
            ended.failures < task.retry.max_attempts ? task_state::pending : task_state::failed;
    } else {
        world_.referee.succeeded(key);
        ended.result = "1";
    }
    world_.referee.end(key);
    co_await settle(std::move(ended));
    std::erase_if(running_, [key](const auto& each) { return each->key == key; });
}

task<> worker::settle(settlement ended) {
    for (;;) {
        try {
            auto call = [this, &ended](store& to, moment now) {
                std::vector<settlement> all(1, ended);
                all[0].due_at = now.steady + 500ms;
                return to.settle_for_worker(id_, std::move(all), now);
            };
            const std::vector<settle_answer> answers =
                co_await ask<std::vector<settle_answer>>(call);
            if (answers.at(0) != settle_answer::refused) {
                world_.referee.settled(ended.key, ended.state, true);
            }
            co_return;
        } catch (const store_unavailable&) {
            // Again: a repeat is no error.
        }
        co_await sleep(300ms);
    }
}

task<> worker::beat() {
    clock::time_point next = weir::now() + beat_interval;
    for (;;) {
        co_await sleep_until(std::min(next, expires_at_ - margin));
        next = weir::now() + beat_interval;
        bool is_answered = false;
        try {
            co_await beat_once();
            is_answered = true;
        } catch (const store_unavailable&) {
            next = weir::now() + 200ms;
        }
        if (!is_answered && !has_lease()) {
            world_.referee.died(process_);  // it stops all at once
            lose(ending::lost);
            co_await sleep_forever();
        }
    }
}

task<> worker::beat_once() {
    const clock::time_point begun = weir::now();
    auto call = [this](store& to, moment now) {
        std::vector<worker_beat> beats(1);
        beats[0].worker = id_;
        beats[0].expires_at = now.steady + std::chrono::microseconds(lease / 1us);
        beats[0].free = room - std::min(room, running_.size());
        beats[0].answered_poll = polls_;
        for (const auto& each : running_) {
            beats[0].running.push_back(each->key);
        }
        return to.renew_workers(std::move(beats), now);
    };
    const clock::duration left = expires_at_ - margin - begun;
    std::vector<worker_answer> answers;
    try {
        answers = co_await weir::timeout(std::max<clock::duration>(left, 1ms),
                                         ask<std::vector<worker_answer>>(call));
    } catch (const timed_out&) {
        answers.clear();
    }
    if (answers.empty()) {
        throw store_unavailable("no answer in time");
    }
    const worker_answer& answer = answers[0];
    if (!answer.is_alive) {
        lose(ending::lost);
        co_return;
    }
    expires_at_ = begun + lease;
    for (const run_key& each : answer.cancelling) {
        if (running_task* const found = find(each)) {
            found->is_cancelled = true;
        }
    }
    for (const run_key& each : answer.lost) {
        if (running_task* const found = find(each)) {
            world_.referee.end(each);
            found->fiber.cancel();
            std::erase_if(running_, [each](const auto& one) { return one->key == each; });
        }
    }
}

task<> worker::drain() {
    try {
        auto drains = [this](store& to, moment now) { return to.drain_worker(id_, now); };
        co_await ask<bool>(drains);
        const clock::time_point latest = weir::now() + 10s;
        while (!running_.empty() && weir::now() < latest && has_lease()) {
            co_await sleep(100ms);
        }
        world_.referee.died(process_);  // what is left is given back
        auto removes = [this](store& to, moment now) { return to.remove_worker(id_, now); };
        co_await ask<bool>(removes);
    } catch (const store_unavailable&) {
        // Its lease ends by itself.
    }
}

}  // namespace weir::service::testing
