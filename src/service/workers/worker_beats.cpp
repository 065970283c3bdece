// SPDX-License-Identifier: MIT
// A heartbeat that comes after a quiet moment is written at once: a worker sends one when it has
// been told of a cancelled task. Those that follow within 100 ms wait for one another.

#include "service/workers/worker_beats.hpp"

#include <weir/time.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace weir::service::detail {

using namespace std::chrono_literals;

namespace {
constexpr clock::duration beat_interval = 100ms;
}  // namespace

task<worker_answer> worker_beats::renew(worker_beat beat) {
    if (!is_running_) {
        throw store_unavailable("the service does not run");
    }
    auto own = std::make_shared<waiting>();
    own->beat = std::move(beat);
    queued_.push_back(own);
    has_queued_.set();
    co_await own->done.wait();
    if (own->failure != nullptr) {
        std::rethrow_exception(own->failure);
    }
    co_return std::move(own->answer);
}

task<> worker_beats::run() {
    class running {
    public:
        explicit running(worker_beats& of) noexcept : of_(of) { of_.is_running_ = true; }
        running(const running&) = delete;
        running& operator=(const running&) = delete;
        ~running() {
            of_.is_running_ = false;
            fail(std::exchange(of_.queued_, {}),
                 std::make_exception_ptr(store_unavailable("the service has ended")));
        }

    private:
        worker_beats& of_;
    };
    const running guard(*this);
    for (;;) {
        has_queued_.clear();
        if (queued_.empty()) {
            co_await has_queued_.wait();
        }
        const clock::time_point begun = weir::now();
        co_await write_batch();
        co_await sleep_until(begun + beat_interval);
    }
}

task<> worker_beats::write_batch() {
    const auto count = static_cast<std::ptrdiff_t>(std::min(queued_.size(), max_batch));
    const batch taken(queued_.begin(), queued_.begin() + count);
    queued_.erase(queued_.begin(), queued_.begin() + count);
    // Also if this fiber is stopped.
    class answered {
    public:
        explicit answered(const batch& all) noexcept : all_(all) {}
        answered(const answered&) = delete;
        answered& operator=(const answered&) = delete;
        ~answered() {
            if (!is_done) {
                fail(all_, std::make_exception_ptr(store_unavailable("the service has ended")));
            }
        }
        bool is_done = false;

    private:
        const batch& all_;
    };
    answered guard(taken);
    std::vector<worker_beat> beats;
    beats.reserve(taken.size());
    for (const std::shared_ptr<waiting>& each : taken) {
        beats.push_back(std::move(each->beat));
    }
    std::exception_ptr failure;
    try {
        std::vector<worker_answer> answers =
            co_await store_.write(store_->renew_workers(std::move(beats), time_.moment_now()));
        for (std::size_t i = 0; i < taken.size(); ++i) {
            taken[i]->answer = std::move(answers.at(i));
            taken[i]->done.set();
        }
    } catch (const std::exception&) {
        failure = std::current_exception();
    }
    guard.is_done = true;
    if (failure != nullptr) {
        fail(taken, failure);
    }
}

void worker_beats::fail(const batch& all, const std::exception_ptr& why) {
    for (const std::shared_ptr<waiting>& each : all) {
        if (!each->done.is_set()) {
            each->failure = why;
            each->done.set();
        }
    }
}

}  // namespace weir::service::detail
