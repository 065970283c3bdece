// SPDX-License-Identifier: MIT
// One fiber commits; pages that arrive meanwhile form the next batch. Sinks are flushed before the
// commit that names their positions: a crash between the two leaves output behind the position,
// which the next start cuts off.

#include "crawl/engine/recorder.hpp"

#include <weir/group.hpp>
#include <weir/scope.hpp>
#include <weir/time.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace weir::crawl::detail {

task<> recorder::open_sinks(const std::map<std::string, std::string>& positions) {
    commit_batch opened;
    for (sink* const each : sinks_) {
        const auto found = positions.find(std::string(each->name()));
        std::string position = found == positions.end() ? std::string() : found->second;
        if (position.empty()) {
            opened.positions[std::string(each->name())] = sink::nothing_written;
        }
        co_await each->open(std::move(position));
    }
    if (!opened.positions.empty()) {
        opened.totals = totals;
        co_await store_.commit(opened);  // from now on the outputs belong to this crawl
    }
}

task<> recorder::close_sinks(bool is_complete) {
    for (sink* const each : sinks_) {
        co_await each->close(is_complete);
    }
}

bool recorder::wants_raw_bodies() const noexcept {
    return std::any_of(sinks_.begin(), sinks_.end(),
                       [](const sink* each) { return each->wants_raw_body(); });
}

std::vector<std::string> recorder::sink_names() const {
    std::vector<std::string> names;
    for (const sink* const each : sinks_) {
        names.emplace_back(each->name());
    }
    return names;
}

bool recorder::has_work() const noexcept {
    return !batch_.pages.empty() || !batch_.urls.empty() || !batch_.retries.empty() ||
           !changed_hosts_.empty();
}

bool recorder::is_full() const noexcept {
    if (batch_.pages.size() >= options_.batch_pages) {
        return true;
    }
    std::size_t buffered = 0;
    for (const sink* const each : sinks_) {
        buffered += each->buffered();
    }
    return buffered >= max_buffered;
}

void recorder::note_work() noexcept {
    if (deadline_ == clock::time_point::max()) {
        deadline_ = now() + options_.batch_time;
        wake_.set();
    } else if (is_full()) {
        wake_.set();
    }
}

void recorder::add(page_unit unit) {
    page& settled = unit.settled;
    settled.body = unit.body;  // short texts move with their string
    if (unit.has_raw_body) {
        settled.raw_body = unit.raw_body.empty() ? unit.body : unit.raw_body;
    }
    switch (settled.state) {
        case page_state::done:
            ++totals.done;
            break;
        case page_state::failed:
            ++totals.failed;
            break;
        case page_state::skipped:
            ++totals.skipped;
            break;
        case page_state::pending:
            break;
    }
    totals.discovered += unit.new_urls.size();
    const bool is_page = settled.attempts > 0 && settled.found_as != link_kind::sitemap_file;
    totals.unrequested += is_page ? 0 : 1;
    totals.redirects += settled.location.empty() ? 0 : 1;
    totals.bytes += settled.bytes;
    totals.wire_bytes += settled.wire_bytes;
    for (std::size_t i = 0; i < link_refusal_count; ++i) {
        totals.refused[i] += unit.refused[i];
    }
    for (sink* const each : sinks_) {
        each->write(settled);
    }
    for (url_row& each : unit.new_urls) {
        batch_.urls.push_back(std::move(each));
    }
    for (link_row& each : unit.links) {
        batch_.links.push_back(std::move(each));
    }
    if (!settled.anchors.empty()) {
        std::string& names = batch_.anchors.emplace_back(settled.id, std::string()).second;
        for (const std::string& each : settled.anchors) {
            names.append(each).append("\n");
        }
    }
    batch_.pages.push_back(std::move(static_cast<page_record&>(settled)));
    note_work();
}

void recorder::add(std::vector<url_row> rows) {
    totals.discovered += rows.size();
    for (url_row& each : rows) {
        batch_.urls.push_back(std::move(each));
    }
    note_work();
}

void recorder::add(retry_row row) {
    ++totals.retries;
    batch_.retries.push_back(std::move(row));
    note_work();
}

void recorder::add(crawl_host& changed) {
    if (!std::exchange(changed.is_changed, true)) {
        changed_hosts_.push_back(&changed);
        note_work();
    }
}

void recorder::hurry() noexcept {
    if (has_work() && !is_committing_ && !is_hurried_) {
        is_hurried_ = true;
        wake_.set();
    }
}

void recorder::finish() noexcept {
    is_finishing_ = true;
    wake_.set();
}

task<> recorder::wait_for_batch() {
    while (!is_finishing_ && !is_hurried_ && !is_full()) {
        wake_.clear();
        cancel_scope limit(deadline_);
        const bool was_woken = co_await limit.run(wake_.wait());
        if (!was_woken) {
            break;
        }
    }
}

task<> recorder::run(std::function<task<>(commit_batch&)> committed) {
    for (;;) {
        co_await wait_for_batch();
        if (has_work()) {
            co_await commit_batch_now(committed);
        } else if (is_finishing_) {
            break;
        } else {
            deadline_ = clock::time_point::max();
            is_hurried_ = false;
        }
    }
}

// Every flush begins right here, before another page can be written: a sink that began later would
// count pages that are not in the batch.
task<> recorder::flush_sinks(std::map<std::string, std::string>& positions) {
    const auto flush_one = [](sink& output, std::string& position) -> task<> {
        position = co_await output.flush();
    };
    const auto flush_all = [&](task_group& group) -> task<> {
        const spawn_options at_once{.start = start::eager};
        for (sink* const each : sinks_) {
            group.spawn(flush_one(*each, positions[std::string(each->name())]), at_once);
        }
        co_return;
    };
    try {
        co_await with_group(flush_all);
    } catch (const error_group& failed) {
        std::rethrow_exception(failed.errors().front());
    }
}

task<> recorder::commit_batch_now(const std::function<task<>(commit_batch&)>& committed) {
    is_committing_ = true;
    is_hurried_ = false;
    deadline_ = clock::time_point::max();
    commit_batch batch = std::exchange(batch_, commit_batch());
    ++batch_number_;
    pages_in_commit_ = batch.pages.size();
    batch.totals = totals;
    for (crawl_host* const each : changed_hosts_) {
        each->is_changed = false;
        batch.hosts.push_back(each->row);
    }
    changed_hosts_.clear();
    co_await flush_sinks(batch.positions);
    co_await store_.commit(batch);
    pages_in_commit_ = 0;
    co_await committed(batch);
    is_committing_ = false;
}

}  // namespace weir::crawl::detail
