// SPDX-License-Identifier: MIT
// Operations out of JSON from clients, and as JSON.
#pragma once

#include "service/api/json/json_writer.hpp"

#include <weir/service/operation.hpp>

#include <boost/json/value.hpp>

namespace weir::service::detail {

// Throws http::problem (422) or invalid_value for unknown members and invalid values.
new_operation read_operation(const boost::json::value& body);
// Members of an open object.
void write_operation(json_writer& json, const operation_record& operation);

}  // namespace weir::service::detail
