// SPDX-License-Identifier: MIT
// A store in memory: for crawls that need not survive their process, and for tests.
#pragma once

#include <weir/crawl/store.hpp>

#include <memory>

namespace weir::crawl {

class memory_store final : public store {
public:
    memory_store();
    ~memory_store() override;

    task<saved_crawl> open(std::string identity, bool accept_changes) override;
    task<saved_crawl> peek() override;
    task<> each_url(std::function<void(const known_url&)> visit) override;
    task<> commit(const commit_batch& batch) override;
    task<std::vector<url_row>> pending(pending_query query) override;
    task<std::vector<url_row>> pending_between(url_id first, url_id last) override;
    task<hash_seed> seed() override;
    task<std::optional<page_record>> find(std::string url) override;
    task<std::optional<retry_row>> retry_of(url_id id) override;
    task<> each_page(std::function<bool(const page_record&)> visit) override;
    task<> each_link(std::function<bool(const link_row&)> visit) override;
    task<> each_anchors(std::function<bool(url_id, const std::string&)> visit) override;
    task<std::uint64_t> retry_failed() override;
    task<> close() override;

private:
    struct contents;
    page_record record_of(std::size_t index) const;

    std::unique_ptr<contents> contents_;
};

// Throws store_error that names the first lines in which the identities of a stored crawl and of
// this run differ. For stores.
void check_identity(std::string_view stored, std::string_view given);

}  // namespace weir::crawl
