// SPDX-License-Identifier: MIT
// Makes sure that one process writes a state file: a lock on '<state>.lock', which has the id of
// the process that holds it. The lock ends with the process, however that ends.
#pragma once

#include <string>

namespace weir::crawl::detail {

class state_lock {
public:
    // Throws store_error with the other process's id, or the system's reason.
    explicit state_lock(const std::string& state_path);
    state_lock(const state_lock&) = delete;
    state_lock& operator=(const state_lock&) = delete;
    ~state_lock();

private:
    std::string path_;
    int fd_ = -1;
};

}  // namespace weir::crawl::detail
