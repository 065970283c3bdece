// SPDX-License-Identifier: MIT
// A child of this process, alone or with its process group.
#pragma once

#include "io/process/child_process.hpp"

namespace weir::detail {

// If the last owner goes before the child has ended, the reaper takes the child over.
class plain_child final : public child_process {
public:
    plain_child(int pid, file_handle pidfd, std::string program, const process_options& options)
        : child_process(pid, std::move(pidfd), std::move(program)),
          grace_(options.grace),
          has_group_(options.own_group) {}
    ~plain_child() override;

    bool kill(int signal) noexcept override;

    // The child has ended, and the system does not report how.
    void lose() noexcept { has_ended_ = is_lost_ = true; }

private:
    bool reap() override;
    bool needs_ending() override;
    task<void> end() override;
    // After the leader's end, for a child with a group.
    task<void> end_group(clock::time_point kill_at);

    clock::duration grace_;
    bool has_group_;
};

}  // namespace weir::detail
