// SPDX-License-Identifier: MIT
// Each operation is a fiber of the desk's group. One that is started while the service does not run
// begins with it.

#include "service/engine/operation_desk.hpp"

#include <weir/group.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace weir::service::detail {

operation_record operation_desk::start(new_operation request) {
    weir::service::check(request);
    const auto running =
        std::ranges::count_if(all_, [](const auto& each) { return !each->has_ended(); });
    if (static_cast<std::size_t>(running) >= max_running) {
        throw too_many_operations(std::to_string(max_running) +
                                  " operations are running; wait until one has ended, or stop one");
    }
    operation_record record;
    static_cast<new_operation&>(record) = std::move(request);
    record.started_at = time_.now();
    last_id_ = next_id(last_id_, std::chrono::floor<std::chrono::milliseconds>(record.started_at)
                                     .time_since_epoch()
                                     .count());
    record.id = last_id_.text();
    auto added = std::make_shared<bulk_operation>(std::move(record), store_, time_, trigger_,
                                                  claims_, runs_);
    forget_oldest();
    all_.push_back(added);
    waiting_.push_back(added);
    wake_.set();
    return added->record();
}

void operation_desk::forget_oldest() {
    if (all_.size() >= max_kept) {
        const auto oldest =
            std::ranges::find_if(all_, [](const auto& each) { return each->has_ended(); });
        all_.erase(oldest);
    }
}

std::vector<operation_record> operation_desk::list() const {
    std::vector<operation_record> records;
    for (auto each = all_.rbegin(); each != all_.rend(); ++each) {
        records.push_back((*each)->record());
    }
    return records;
}

std::shared_ptr<bulk_operation> operation_desk::operation(std::string_view id) const {
    const auto found =
        std::ranges::find_if(all_, [&](const auto& each) { return each->record().id == id; });
    return found != all_.end() ? *found : nullptr;
}

std::optional<operation_record> operation_desk::find(std::string_view id) const {
    const std::shared_ptr<bulk_operation> found = operation(id);
    return found != nullptr ? std::optional(found->record()) : std::nullopt;
}

task<std::optional<operation_record>> operation_desk::stop(std::string id) {
    const std::shared_ptr<bulk_operation> found = operation(id);
    if (found == nullptr) {
        co_return std::nullopt;
    }
    if (std::erase(waiting_, found) != 0) {
        found->abandon();
    }
    if (!found->has_ended()) {
        co_await found->stop();
    }
    co_return found->record();
}

task<> operation_desk::make(std::shared_ptr<bulk_operation> operation) {
    co_await operation->run();
}

task<> operation_desk::run() {
    auto body = [this](task_group& group) -> task<> {
        for (;;) {
            wake_.clear();
            for (std::shared_ptr<bulk_operation>& each : waiting_) {
                group.spawn(make(std::move(each)), {.name = "service operation"});
            }
            waiting_.clear();
            co_await wake_.wait();
        }
    };
    co_await with_group(body);
}

}  // namespace weir::service::detail
