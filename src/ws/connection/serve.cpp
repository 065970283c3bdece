// SPDX-License-Identifier: MIT
// Runs a handler on a connection: starts the connection's tasks beside it, and closes when it has
// ended, however that was.

#include "ws/connection/connection_core.hpp"

#include <weir/cancel.hpp>
#include <weir/error.hpp>
#include <weir/group.hpp>
#include <weir/ws/serve.hpp>

#include <algorithm>
#include <exception>

namespace weir::ws {

namespace detail {

task<> run_connection(established opened, handler_function handler, connection_options options) {
    connection_core core(std::move(opened), options);
    connection peer(core);
    std::exception_ptr error;
    auto close = [&core](ending how) -> task<> { return core.shut_down(how); };
    auto body = [&](task_group& group) -> task<> {
        group.spawn(core.read(), {.name = "ws reader"});
        group.spawn(core.write(), {.name = "ws writer"});
        group.spawn(core.watch(), {.name = "ws watch"});
        try {
            co_await finally(handler(peer), close);
        } catch (...) {
            error = std::current_exception();  // kept here, since the group would wrap it
        }
        group.cancel();
    };
    co_await with_group(body);
    if (error != nullptr) {
        std::rethrow_exception(error);
    }
}

namespace {

// ws::closed, or a group of nothing but ws::closed, from several tasks of a handler.
bool is_closed(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const closed&) {
        return true;
    } catch (const error_group& several) {
        return std::all_of(several.errors().begin(), several.errors().end(), is_closed);
    } catch (...) {
        return false;
    }
}

}  // namespace

task<> serve(established opened, handler_function handler, connection_options options) {
    task<> running = run_connection(std::move(opened), std::move(handler), options);
    const outcome<> ended = co_await settle(std::move(running));
    if (ended.has_error() && is_closed(ended.error())) {
        co_return;  // the peer has disconnected, which is not an error of the server
    }
    ended.value();
}

}  // namespace detail
}  // namespace weir::ws
