// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace weir::service::detail {

// The description of the API, OpenAPI 3.1, as JSON.
std::shared_ptr<const std::string> openapi_document(std::string_view version);

// Its parts, JSON each.
std::string_view openapi_paths() noexcept;
std::string_view openapi_schemas() noexcept;

}  // namespace weir::service::detail
