// SPDX-License-Identifier: MIT
// Whoever listens or sends keeps the backend meanwhile, so that it may be replaced at any time.

#include "service/store/move/gate_channel.hpp"

#include <weir/time.hpp>

#include <utility>

namespace weir::service::detail {

void gate_channel::replace(std::shared_ptr<sql_backend> next) {
    current_ = std::move(next);
    if (listening_ != nullptr) {
        listening_->cancel();
    }
}

task<> gate_channel::listen_on(sql_backend& backend, receiver& to) {
    if (node_channel* const channel = backend.channel()) {
        co_await channel->listen(to);
    }
    co_await sleep_forever();
}

task<> gate_channel::listen(receiver& to) {
    // The scope is on the frame of this task, which may be stopped.
    class mark {
    public:
        mark(cancel_scope*& place, cancel_scope& scope) noexcept : place_(place) { place = &scope; }
        mark(const mark&) = delete;
        mark& operator=(const mark&) = delete;
        ~mark() { place_ = nullptr; }

    private:
        cancel_scope*& place_;
    };
    for (;;) {
        const std::shared_ptr<sql_backend> on = current_;
        cancel_scope until_replaced;
        const mark listening(listening_, until_replaced);
        static_cast<void>(co_await until_replaced.run(listen_on(*on, to)));
    }
}

task<bool> gate_channel::send(std::vector<std::string> messages) {
    const std::shared_ptr<sql_backend> on = current_;
    node_channel* const channel = on->channel();
    if (channel == nullptr) {
        co_return true;
    }
    const bool is_sent = co_await channel->send(std::move(messages));
    co_return is_sent;
}

}  // namespace weir::service::detail
