// SPDX-License-Identifier: MIT
// A crawl in one SQLite file, which survives kill -9 and power failures and can be queried with
// SQL:
//
//     SELECT u.url, p.status FROM pages p JOIN urls u USING (id) WHERE p.status >= 400;
//
// docs/crawl.md lists the tables. One process at a time writes: a second one is refused with the
// first one's process id. Others may read meanwhile.
#pragma once

#include <weir/crawl/store.hpp>

#include <memory>
#include <string>

namespace weir::crawl {

struct sqlite_store_options {
    bool read_only = false;  // for reports, also while a crawl runs
    bool is_durable = true;  // false: a power failure may lose the last commits, a crash does not
};

class sqlite_store final : public store {
public:
    // Throws store_error if the file cannot be opened, is no crawl, or another process has it.
    static task<std::unique_ptr<sqlite_store>> open_file(std::string path,
                                                         sqlite_store_options options = {});
    ~sqlite_store() override;

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
    struct parts;
    explicit sqlite_store(std::unique_ptr<parts> opened) noexcept;

    std::unique_ptr<parts> parts_;
};

}  // namespace weir::crawl
