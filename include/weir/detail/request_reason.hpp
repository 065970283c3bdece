// SPDX-License-Identifier: MIT
// The reasons given with stop requests for one target: a fiber, or a scope.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace weir::detail {

// There may be two requests: one that was delivered and is not answered yet, and one that was made
// since and is pending. Most have no reason: the texts are made with the first one that is given.
class request_reason {
public:
    // A request that is made without a reason does not take away that of the one it merges with.
    void request(std::string_view reason) {
        if (!reason.empty()) {
            made().pending = reason;
        }
    }
    void deliver() noexcept {
        if (texts_ != nullptr) {
            texts_->delivered = std::exchange(texts_->pending, {});
        }
    }
    // The delivered one is pending again, merged with one that was made since.
    void request_again() noexcept {
        if (texts_ != nullptr) {
            if (texts_->pending.empty()) {
                texts_->pending.swap(texts_->delivered);
            }
            texts_->delivered.clear();
        }
    }
    void restore(std::string_view reason) { made().delivered = reason; }
    void answer() noexcept {
        if (texts_ != nullptr) {
            texts_->delivered.clear();
        }
    }
    void withdraw() noexcept {
        if (texts_ != nullptr) {
            texts_->pending.clear();
        }
    }

    std::string_view pending() const noexcept {
        return texts_ != nullptr ? std::string_view(texts_->pending) : std::string_view();
    }
    std::string_view delivered() const noexcept {
        return texts_ != nullptr ? std::string_view(texts_->delivered) : std::string_view();
    }

private:
    struct texts {
        std::string pending;
        std::string delivered;
    };

    texts& made() {
        if (texts_ == nullptr) {
            texts_ = std::make_unique<texts>();
        }
        return *texts_;
    }

    std::unique_ptr<texts> texts_;
};

}  // namespace weir::detail
