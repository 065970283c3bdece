// SPDX-License-Identifier: MIT
// A list of strings for libcurl, whose memory is used again.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace weir::http::detail {

class curl_list {
public:
    void clear() noexcept {
        text_.clear();
        starts_.clear();
    }
    bool empty() const noexcept { return starts_.empty(); }
    void add(std::initializer_list<std::string_view> parts) {
        starts_.push_back(text_.size());
        for (const std::string_view part : parts) {
            text_ += part;
        }
        text_ += '\0';
    }
    // Null if the list is empty. Valid until the next change.
    curl_slist* get() {
        nodes_.resize(starts_.size());
        for (std::size_t i = 0; i < starts_.size(); ++i) {
            nodes_[i].data = text_.data() + starts_[i];
            nodes_[i].next = i + 1 < starts_.size() ? &nodes_[i + 1] : nullptr;
        }
        return nodes_.empty() ? nullptr : nodes_.data();
    }

private:
    std::string text_;
    std::vector<std::size_t> starts_;
    std::vector<curl_slist> nodes_;
};

}  // namespace weir::http::detail
