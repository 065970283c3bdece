// SPDX-License-Identifier: MIT
// Tasks that run on behalf of a database share its core, which may outlive the database.

#include "db/pg/database_core.hpp"

#include <weir/db/pg/database.hpp>
#include <weir/error.hpp>
#include <weir/time.hpp>
#include <weir/timeout.hpp>

#include <algorithm>

namespace weir::pg {

database::database(const connect_options& server, const database_options& options)
    : core_(std::make_shared<detail::database_core>(server, options)) {}

database::~database() {
    core_->close();
}

std::shared_ptr<detail::query_target> database::target() const noexcept {
    return core_;
}

task<lease<connection>> database::acquire_from(std::shared_ptr<detail::database_core> core) {
    core->check_not_inside_itself();
    core->make_room();
    lease<connection> got = co_await core->pool().acquire();
    co_return std::move(got);
}

task<lease<connection>> database::acquire() {
    return acquire_from(core_);
}

task<> database::script(std::string sql) {
    const lease<connection> own = co_await acquire();
    co_await own->script(std::move(sql));
}

namespace {

generator<std::string> copy_out_on(task<lease<connection>> acquiring, std::string sql) {
    const lease<connection> own = co_await std::move(acquiring);
    auto chunks = own->copy_out(std::move(sql));
    for (;;) {
        auto chunk = co_await chunks.next();
        if (!chunk.has_value()) {
            co_return;
        }
        co_yield moved(*chunk);
    }
}

}  // namespace

generator<std::string> database::copy_out(std::string sql) {
    return copy_out_on(acquire_from(core_), std::move(sql));
}

generator<notification> database::listen(std::string channel, listen_options options) {
    std::vector<std::string> channels;
    channels.push_back(std::move(channel));
    return listen(std::move(channels), options);
}

generator<notification> database::listen(std::vector<std::string> channels,
                                         listen_options options) {
    detail::check_listen(channels, options);
    return detail::listen(core_->server(), std::move(channels), options);
}

task<> database::close(clock::duration limit) {
    const std::shared_ptr<detail::database_core> core = core_;
    const clock::time_point end = weir::detail::after(now(), limit);
    try {
        co_await timeout(limit, detail::database_core::drain(core));
    } catch (const timed_out&) {
    }
    core->close();
    co_await core->pool().close(std::max(end - now(), clock::duration::zero()));
}

database_stats database::stats() const noexcept {
    return core_->stats();
}

void database::write_metrics(metric_writer& to) const {
    core_->write_metrics(to);
}

}  // namespace weir::pg
