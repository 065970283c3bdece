// SPDX-License-Identifier: MIT
// A host is in at most one place: in the ring of ready hosts, in the heap of waiting ones, in the
// line of its address, or in none, if it has no URLs, is being prepared, or has as many requests in
// flight as allowed; then the end of one of them puts it back. A host that gave a job goes to the
// end of the ring.

#include "crawl/frontier/frontier.hpp"

#include <weir/time.hpp>

#include <algorithm>
#include <limits>

namespace weir::crawl::detail {

crawl_host* frontier::find(std::string_view origin) {
    // The links of a page are mostly of one host.
    if (last_found_ == nullptr || last_found_->row.origin != origin) {
        const auto found = by_origin_.find(std::string(origin));
        if (found == by_origin_.end()) {
            return nullptr;
        }
        last_found_ = &host(found->second);
    }
    return last_found_;
}

crawl_host& frontier::host_of(std::string_view origin) {
    if (crawl_host* const known = find(origin)) {
        return *known;
    }
    host_row row;
    row.id = static_cast<host_id>(hosts_.size() + 1);
    row.origin = origin;
    return restore(std::move(row));
}

crawl_host& frontier::restore(host_row row) {
    by_origin_.emplace(row.origin, row.id);
    hosts_.push_back(std::make_unique<crawl_host>(std::move(row), rules_));
    return *hosts_.back();
}

void frontier::set_address(crawl_host& of, const std::string& address) {
    of.is_address_known = true;
    if (per_address_ > 0 && !address.empty()) {
        of.address = &addresses_[address];
    }
}

void frontier::add(url_row row) {
    crawl_host& at = host(row.host);
    note_urls(at);
    at.window.push(std::move(row));
    update(at);
}

// The planned times of a host that runs out of URLs begin anew; those of a host whose next URLs are
// about to become durable do not.
void frontier::note_urls(crawl_host& to) {
    if (!to.has_rows() && to.gate.is_idle(weir::now())) {
        to.due = weir::now();
    }
}

void frontier::add_later(url_row row, clock::time_point when) {
    crawl_host& at = host(row.host);
    if (at.is_withdrawn) {  // the next node reads it from the store
        forget(row.id);
        return;
    }
    const std::pair key(when, row.id);
    take(row.id, at);
    later_.emplace(key, std::move(row));
}

void frontier::wake(clock::time_point now) {
    now_ = now;
    while (!later_.empty() && later_.begin()->first.first <= now) {
        url_row row = std::move(later_.begin()->second);
        later_.erase(later_.begin());
        crawl_host& at = host(row.host);
        note_urls(at);
        at.again.push_back(std::move(row));
        update(at);
    }
    while (!waiting_.empty() && waiting_.top().first <= now) {
        crawl_host& at = host(waiting_.top().second);
        waiting_.pop();
        at.where = crawl_host::place::none;
        update(at);
    }
}

std::optional<frontier_job> frontier::next(clock::time_point now) {
    wake(now);
    while (!ready_.empty()) {
        crawl_host& at = *ready_.front();
        ready_.pop_front();
        at.where = crawl_host::place::none;
        if (!at.has_rows() || at.is_preparing || at.is_withdrawn) {
            continue;
        }
        at.is_prepared = at.is_prepared && (now < at.prepared_until || at.is_page_next);
        if (!at.is_given_up() && (!at.is_prepared || wants_address(at))) {
            if (must_wait(at)) {
                continue;
            }
            const std::optional<address_group*> joined = join_or_wait(at);
            if (!joined) {
                continue;
            }
            at.is_preparing = true;
            return frontier_job{&at, std::nullopt, false, *joined};
        }
        const url_row& first = at.again.empty() ? at.window.front() : at.again.front();
        const bool is_refused = at.is_given_up() || (allows && !allows(at, first));
        std::optional<address_group*> joined = nullptr;
        if (!is_refused) {
            if (must_wait(at)) {
                continue;
            }
            joined = join_or_wait(at);
            if (!joined) {
                continue;
            }
            at.gate.begin(now, at.due);
            at.is_page_next = false;
        }
        frontier_job job = give_out(at, is_refused);
        job.joined = *joined;
        return job;
    }
    return std::nullopt;
}

// By its gate; then it is where it waits.
bool frontier::must_wait(crawl_host& of) {
    if (of.gate.is_full()) {
        return true;
    }
    if (of.gate.next_at() <= now_) {
        return false;
    }
    update(of);
    return true;
}

frontier_job frontier::give_out(crawl_host& from, bool is_refused) {
    frontier_job job{&from, std::nullopt, is_refused, nullptr};
    if (!from.again.empty()) {
        job.row = std::move(from.again.front());
        from.again.pop_front();
    } else {
        job.row = from.window.pop();
    }
    take(job.row->id, from);
    update(from);
    return job;
}

bool frontier::is_empty() const noexcept {
    return ready_.empty() && waiting_.empty() && later_.empty() && low_.empty() && refills_ == 0 &&
           taken_.empty() && at_addresses_ == 0;
}

void frontier::assume_stored(crawl_host& of) {
    note_urls(of);
    of.window.assume_stored();
    update(of);
}

void frontier::end(crawl_host& of, address_group* joined) {
    of.gate.end(weir::now());
    leave(joined);
    update(of);
}

void frontier::end_preparation(crawl_host& of, address_group* joined) {
    of.is_preparing = false;
    leave(joined);
    update(of);
}

std::optional<address_group*> frontier::try_join(const crawl_host& of) noexcept {
    if (of.address == nullptr) {
        return nullptr;
    }
    if (of.address->in_flight >= per_address_) {
        return std::nullopt;
    }
    ++of.address->in_flight;
    return of.address;
}

std::optional<address_group*> frontier::join_or_wait(crawl_host& of) {
    const std::optional<address_group*> joined = try_join(of);
    if (!joined) {
        of.where = crawl_host::place::at_address;
        of.address->waiting.push_back(&of);
        ++at_addresses_;
    }
    return joined;
}

void frontier::leave(address_group* joined) {
    if (joined == nullptr) {
        return;
    }
    --joined->in_flight;
    at_addresses_ -= joined->waiting.size();
    std::vector<crawl_host*> freed;
    freed.swap(joined->waiting);
    for (crawl_host* const each : freed) {
        each->where = crawl_host::place::none;
        update(*each);
    }
}

void frontier::take(url_id id, crawl_host& from) {
    if (taken_.emplace(id, &from).second) {
        ++from.taken;
    }
}

void frontier::forget(url_id id) {
    const auto found = taken_.find(id);
    if (found != taken_.end()) {
        --found->second->taken;
        taken_.erase(found);
    }
}

void frontier::withdraw(crawl_host& of) {
    of.is_withdrawn = true;
    for (const url_row& each : of.again) {
        forget(each.id);
    }
    of.again.clear();
    for (auto at = later_.begin(); at != later_.end();) {
        if (at->second.host == of.row.id) {
            forget(at->second.id);
            at = later_.erase(at);
        } else {
            ++at;
        }
    }
}

bool frontier::is_quiet(const crawl_host& of) const noexcept {
    return of.taken == 0 && of.gate.in_flight() == 0 && !of.is_preparing && !of.is_changed &&
           !of.window.is_refilling();
}

void frontier::drop(crawl_host& of) {
    of.window = url_window();
    of.is_withdrawn = false;
}

void frontier::update(crawl_host& of) {
    if (of.is_withdrawn) {
        return;
    }
    if (of.window.wants_refill() && !of.is_listed_for_refill) {
        of.is_listed_for_refill = true;
        low_.push_back(&of);
    }
    if (of.where != crawl_host::place::none || !of.has_rows() || of.is_preparing) {
        return;
    }
    if (of.is_given_up() || (!of.gate.is_full() && of.gate.next_at() <= now_)) {
        of.where = crawl_host::place::ready;
        ready_.push_back(&of);
    } else if (!of.gate.is_full()) {
        of.where = crawl_host::place::waiting;
        waiting_.emplace(of.gate.next_at(), of.row.id);
    }
}

clock::time_point frontier::next_at() const noexcept {
    clock::time_point first = clock::time_point::max();
    if (!waiting_.empty()) {
        first = waiting_.top().first;
    }
    if (!later_.empty()) {
        first = std::min(first, later_.begin()->first.first);
    }
    return ready_.empty() ? first : now_;
}

crawl_host* frontier::next_refill() {
    while (!low_.empty()) {
        crawl_host* const at = low_.back();
        low_.pop_back();
        at->is_listed_for_refill = false;
        if (at->window.wants_refill() && !at->is_withdrawn) {
            ++refills_;
            return at;
        }
    }
    return nullptr;
}

void frontier::refill(crawl_host& of, std::vector<url_row> rows, bool is_all) {
    --refills_;
    std::vector<url_row> kept;
    url_window::key last;
    kept.reserve(rows.size());
    for (url_row& each : rows) {
        last = url_window::key_of(each);
        if (!taken_.contains(each.id)) {
            kept.push_back(std::move(each));
        }
    }
    note_urls(of);
    if (rows.empty()) {
        of.window.end_refill({}, {std::numeric_limits<std::int32_t>::min(), 0}, is_all);
    } else {
        of.window.end_refill(std::move(kept), last, is_all);
    }
    update(of);
}

}  // namespace weir::crawl::detail
