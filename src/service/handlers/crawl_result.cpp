// SPDX-License-Identifier: MIT
// The service refuses results of more than a mebibyte; the lists end before.

#include "service/handlers/crawl_result.hpp"

#include <weir/crawl/link_report.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <utility>

namespace weir::service::detail {

namespace {

namespace json = boost::json;

constexpr std::size_t max_list_bytes = 512 * 1024;
constexpr std::size_t max_places = 10;

// A list that stops to grow at a number of entries, or when it is large.
class bounded_list {
public:
    explicit bounded_list(std::size_t most) noexcept : most_(most) {}

    // The size of the entry's texts, about.
    bool has_room(std::size_t bytes) noexcept {
        bytes_ += bytes + 100;
        is_cut_ = is_cut_ || list_.size() >= most_ || bytes_ > max_list_bytes;
        return !is_cut_;
    }
    void add(json::object entry) { list_.emplace_back(std::move(entry)); }
    void move_to(json::object& result, const char* name, std::uint64_t count) {
        result[std::string(name) + "_count"] = count;
        result[name] = std::move(list_);
        result["is_cut"] = is_cut_;
    }

private:
    json::array list_;
    std::size_t most_;
    std::size_t bytes_ = 0;
    bool is_cut_ = false;
};

json::object counts_of(const crawl::counters& totals) {
    json::object counts;
    counts["discovered"] = totals.discovered;
    counts["done"] = totals.done;
    counts["failed"] = totals.failed;
    counts["skipped"] = totals.skipped;
    counts["pending"] = totals.pending();
    counts["redirects"] = totals.redirects;
    return counts;
}

json::object refusals_of(const crawl::counters& totals) {
    json::object refused;
    for (std::size_t i = 1; i < crawl::link_refusal_count; ++i) {
        if (totals.refused[i] > 0) {
            refused[name_of(static_cast<crawl::link_refusal>(i))] = totals.refused[i];
        }
    }
    return refused;
}

void add_broken(bounded_list& to, const crawl::broken_target& target) {
    std::size_t bytes = target.url.size() + target.reason.size();
    json::array places;
    for (const crawl::link_place& each : target.places) {
        if (places.size() == max_places) {
            break;
        }
        json::object place;
        place["page"] = each.page;
        place["line"] = each.line;
        place["column"] = each.column;
        place["kind"] = name_of(each.kind);
        bytes += each.page.size() + 60;
        places.emplace_back(std::move(place));
    }
    if (!to.has_room(bytes)) {
        return;
    }
    json::object entry;
    entry["url"] = target.url;
    entry["reason"] = target.reason;
    entry["status"] = target.status;
    entry["place_count"] = target.places.size();
    entry["places"] = std::move(places);
    to.add(std::move(entry));
}

task<> add_report(const crawl_payload& request, crawl::store& store, json::object& result) {
    crawl::link_report_options options;
    options.accepted = request.accepted;
    const crawl::link_report report = co_await make_link_report(store, std::move(options));
    bounded_list broken(request.max_listed);
    for (const crawl::broken_target& each : report.broken) {
        add_broken(broken, each);
    }
    result["links"] = report.links;
    result["unknown"] = report.unknown;
    broken.move_to(result, "broken", report.broken.size());
}

task<> add_failed_pages(const crawl_payload& request, crawl::store& store, json::object& result) {
    bounded_list failed(request.max_listed);
    std::uint64_t count = 0;
    const auto visit = [&](const crawl::page_record& page) {
        if (page.state != crawl::page_state::failed) {
            return true;
        }
        ++count;
        if (failed.has_room(page.url.size() + page.error.text.size() + page.referrer.size())) {
            json::object entry;
            entry["url"] = page.url;
            entry["error"] = name_of(page.error.kind);
            entry["reason"] = page.error.text;
            entry["status"] = page.status;
            entry["referrer"] = page.referrer;
            failed.add(std::move(entry));
        }
        return true;
    };
    co_await store.each_page(visit);
    failed.move_to(result, "failed", count);
}

}  // namespace

std::string counts_text(const crawl::counters& totals) {
    return std::to_string(totals.done) + " done, " + std::to_string(totals.failed) + " failed, " +
           std::to_string(totals.skipped) + " skipped, " + std::to_string(totals.pending()) +
           " pending";
}

task<json::value> crawl_result(const crawl_payload& request, const crawl::crawl_summary& summary,
                               crawl::store& store) {
    json::object result;
    result["ended_by"] = name_of(summary.why);
    result["urls"] = counts_of(summary.totals);
    result["bytes"] = summary.totals.bytes;
    result["retries"] = summary.totals.retries;
    result["not_followed"] = refusals_of(summary.totals);
    if (request.is_check) {
        co_await add_report(request, store, result);
    } else {
        co_await add_failed_pages(request, store, result);
    }
    co_return json::value(std::move(result));
}

}  // namespace weir::service::detail
