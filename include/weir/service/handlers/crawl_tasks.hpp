// SPDX-License-Identifier: MIT
// The handler 'crawl': crawls web sites, or checks their links.
//
//     service::crawl_tasks crawls({.folder = "crawls"});
//     tasks.handle("crawl", [&](service::job& job) { return crawls.run(job); },
//                  &service::crawl_tasks::check);
//
//     {"kind": "crawl", "payload": {"urls": ["https://example.com/"], "check": true}}
//
// docs/service.md lists the members of the payload and of the result. Each task has its state in a
// file of the folder, named by its id: a run that fails, crashes or is stopped is continued by the
// next one, and so is a run that has used its timeout, without a failed attempt. A failed attempt
// fetches failed pages again. upkeep() removes the states of tasks that have completed or that the
// store has purged.
//
// Belongs to one loop, and must outlive the service.
#pragma once

#include <weir/crawl/crawl_options.hpp>
#include <weir/crawl/fetcher.hpp>
#include <weir/http/address_filter.hpp>
#include <weir/service/job.hpp>
#include <weir/service/task_id.hpp>
#include <weir/task.hpp>

#include <functional>
#include <memory>
#include <string>

namespace weir::http {
class host_policies;
}

namespace weir::service {

class service;

struct crawl_tasks_options {
    // Of the states; created when needed. Empty: states are in memory, and each run starts anew.
    std::string folder{};
    // What requests to a host have to pass, besides the limits of the crawl itself. Shared with
    // http_delivery, a host sees one client. Null: nothing.
    http::host_policies* hosts = nullptr;
    // Makes the fetcher of a run; for tests. Empty: crawl::http_fetcher.
    std::function<std::unique_ptr<crawl::fetcher>(const crawl::crawl_options&)> make_fetcher{};
};

class crawl_tasks {
public:
    explicit crawl_tasks(crawl_tasks_options options = {},
                         http::address_filter filter = http::address_filter::public_only());
    crawl_tasks(const crawl_tasks&) = delete;
    crawl_tasks& operator=(const crawl_tasks&) = delete;
    ~crawl_tasks();

    weir::task<boost::json::value> run(job& job);
    // Throws permanent_failure that names the member, so that the payload is refused at submit.
    static void check(const boost::json::value& payload);

    // Removes states that no run will continue, now and every minute, until it is stopped.
    weir::task<> upkeep(service& tasks) const;
    weir::task<> remove_finished(service& tasks) const;
    // The state of a task; empty without a folder.
    std::string path_of(task_id id) const;

private:
    std::unique_ptr<crawl::fetcher> fetcher_for(const crawl::crawl_options& options) const;

    crawl_tasks_options options_;
    http::address_filter filter_;
};

}  // namespace weir::service
