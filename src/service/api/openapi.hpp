// SPDX-License-Identifier: MIT
// The description of the API, served as /openapi.json.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace weir::service::detail {

// OpenAPI 3.1, as JSON.
std::shared_ptr<const std::string> openapi_document(std::string_view version);

// Its parts, each JSON.
std::string_view openapi_paths() noexcept;
std::string_view openapi_schemas() noexcept;
std::string_view openapi_worker_paths() noexcept;
std::string_view openapi_worker_schemas() noexcept;
std::string_view openapi_group_paths() noexcept;
std::string_view openapi_group_schemas() noexcept;
std::string_view openapi_move_paths() noexcept;
std::string_view openapi_move_schemas() noexcept;

}  // namespace weir::service::detail
