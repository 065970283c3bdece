// SPDX-License-Identifier: MIT
// A contained program with all its descendants, behind its keeper's channel (tree_protocol.hpp).
#pragma once

#include "io/process/child_process.hpp"

namespace weir::detail {

// If the last owner goes, the channel is closed, and the keeper kills the tree.
class tree_child final : public child_process {
public:
    // `attempt` names the start in errors.
    tree_child(file_handle channel, std::string program, std::string attempt)
        : child_process(0, std::move(channel), std::move(program)), attempt_(std::move(attempt)) {}

    bool kill(int signal) noexcept override;
    task<void> loaded() override;
    void load_blocking() override;

private:
    bool reap() override;
    bool needs_ending() override { return !reap(); }
    task<void> end() override;
    bool send(unsigned char command) noexcept;
    bool is_loaded();  // throws io_error if it cannot be started

    std::string attempt_;
    int start_error_ = 0;
    bool has_status_ = false;
};

}  // namespace weir::detail
