// SPDX-License-Identifier: MIT
// From a token to a stop: a callback of the token posts to the loop, or on the loop's own thread
// requests the stop at once. From a stop to a token: the fiber has a source, made on first use,
// that cancel() requests.

#include "core/runtime/fiber_extras.hpp"

#include <weir/error.hpp>
#include <weir/loop.hpp>
#include <weir/stop_token.hpp>

namespace weir {

std::stop_token stop_token_of_current() {
    detail::fiber* const running = detail::this_thread.running;
    if (running == nullptr) {
        throw loop_error("stop_token_of_current: no task is running here");
    }
    std::unique_ptr<std::stop_source>& source = running->extra().stop_source;
    // One that an earlier cancel requested, and that was undone since, is of no use any more.
    if (source == nullptr || (source->stop_requested() && running->cancel_count == 0)) {
        source = std::make_unique<std::stop_source>();
        if (running->cancel_count > 0) {
            source->request_stop();
        }
    }
    return source->get_token();
}

namespace detail {

scope_stopper::scope_stopper(cancel_scope& stopped)
    : alive_(std::make_shared<cancel_scope*>(&stopped)),
      mail_(loop::current().mail()),
      home_(this_thread.loop) {}

void scope_stopper::operator()() const {
    if (this_thread.loop == home_) {
        (*alive_)->cancel("the stop token was requested");
        return;
    }
    post_to(mail_, [alive = alive_] {
        if (*alive != nullptr) {
            (*alive)->cancel("the stop token was requested");
        }
    });
}

}  // namespace detail
}  // namespace weir
