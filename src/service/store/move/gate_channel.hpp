// SPDX-License-Identifier: MIT
// gate_channel: the channel of a backend that can be replaced. Messages go to that of the current
// one; a backend that has none is alone on its database, and nobody is to be told.
#pragma once

#include "service/store/sql_backend.hpp"

#include <weir/scope.hpp>
#include <weir/service/node_channel.hpp>

#include <memory>
#include <string>
#include <vector>

namespace weir::service::detail {

class gate_channel final : public node_channel {
public:
    explicit gate_channel(std::shared_ptr<sql_backend> first) : current_(std::move(first)) {}

    void replace(std::shared_ptr<sql_backend> next);

    // Goes on at the next backend when this one is replaced.
    task<> listen(receiver& to) override;
    task<bool> send(std::vector<std::string> messages) override;

private:
    static task<> listen_on(sql_backend& backend, receiver& to);

    std::shared_ptr<sql_backend> current_;
    cancel_scope* listening_ = nullptr;
};

}  // namespace weir::service::detail
