// SPDX-License-Identifier: MIT
// The identity of a node, and whether the process behind another node's record is still alive.
#pragma once

#include <weir/service/store.hpp>

#include <cstdint>
#include <string>

namespace weir::service::detail {

// A name that no node has had before, in force as long as this lives.
class node_name {
public:
    explicit node_name(std::uint64_t random);
    node_name(const node_name&) = delete;
    node_name& operator=(const node_name&) = delete;
    ~node_name();

    const std::string& text() const noexcept { return text_; }

private:
    std::string text_;
};

// Machine, boot, and the space that process numbers are unique in.
const std::string& this_host();
std::int64_t this_process() noexcept;

// False only if it is certain that it is not. `processes` is where the system shows them.
bool is_running(std::int64_t process, const std::string& processes = "/proc");

// Its process ran here, and is no more. False where that cannot be known.
bool is_gone(const node_record& node);

}  // namespace weir::service::detail
